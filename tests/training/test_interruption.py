import signal
import threading

import pytest

from gantune.training.interruption import stop_between_steps


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_a_wish(number):
    with stop_between_steps() as wish:
        assert wish.signal is None
        signal.raise_signal(number)
        assert wish.signal == number.name


def test_the_second_acts_as_it_did_before():
    with stop_between_steps():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_the_handlers_come_back():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with stop_between_steps():
        assert signal.getsignal(signal.SIGINT) is not before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stop_between_steps() as wish:
            signal.raise_signal(signal.SIGINT)
            assert wish.signal is None
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_takes_no_signals():
    found = []

    def run():
        with stop_between_steps() as wish:
            found.append((wish.signal, signal.getsignal(signal.SIGINT)))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [(None, before)]
