"""The profile's page: one HTML file with its styles, script and events inside, and no request to anyone."""

import functools
import json
from pathlib import Path

from markupsafe import Markup

from gantune.records.profile import Profile
from gantune.reporting.figures import Json, write_figure
from gantune.reporting.memory_chart import draw_memory
from gantune.reporting.page import flatten_facts, page_templates, read_asset
from gantune.reporting.timeline import Timeline, pack_timeline

NUM_ROWS = 15
KIND_NAMES = {
    "idle_gpu": "idle GPU",
    "cannot_judge_gpu": "the GPU cannot be judged",
    "reference_ops": "reference operations",
}


def render_profile(profile: Profile, timeline: Timeline | None) -> str:
    """Render the whole profile; every number on the page is read from the profile's JSON."""
    document: Json = json.loads(profile.model_dump_json())
    return (
        page_templates()
        .get_template("profile.html.j2")
        .render(
            profile=profile,
            figure=functools.partial(write_figure, document),
            styles=Markup(read_asset("report.css") + read_asset("profile.css")),
            script=Markup(read_asset("profile.js")),
            timeline=timeline,
            events=None if timeline is None else pack_timeline(timeline),
            kind=lambda name: KIND_NAMES.get(name, name.replace("_", " ")),
            headline=write_headline(profile),
            num_rows=NUM_ROWS,
            has_device=any(operator.device_ms for operator in profile.operators),
            memory=[draw_memory(profile.memory, is_narrow=narrow) for narrow in (False, True)]
            if profile.memory
            else [],
            machine=[]
            if profile.machine is None
            else flatten_facts(profile.machine.model_dump(exclude_none=True)),
        )
    )


def write_headline(profile: Profile) -> str:
    """Say the verdict in a few words."""
    first = profile.findings[0]
    name = KIND_NAMES.get(first.kind, first.kind.replace("_", " "))
    if first.kind in ("nothing_to_mend", "cannot_judge_gpu") or not first.share:
        return name[0].upper() + name[1:]
    return f"{name[0].upper()}{name[1:]} costs {first.share:.0%} of the time"


def write_profile_page(profile: Profile, timeline: Timeline | None, path: Path) -> None:
    """Write the page."""
    path.write_text(render_profile(profile, timeline), encoding="utf-8")
