"""Quantize an ONNX file with NNCF, in a Python that has it: nncf_integers.py IN.onnx OUT.xml SAMPLES.npz."""

import argparse
from pathlib import Path

import nncf
import numpy as np
import openvino


def main() -> None:
    """Quantize with NNCF's default setting, or with the slower one that it recommends for accuracy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("samples", type=Path, help="an .npz with one array [samples, …] for each input")
    parser.add_argument("--accurate", action="store_true")
    arguments = parser.parse_args()
    arrays = np.load(arguments.samples, allow_pickle=False)
    count = max(len(arrays[name]) for name in arrays.files if arrays[name].ndim)
    samples = [
        {
            name: arrays[name][index : index + 1] if arrays[name].ndim else arrays[name]
            for name in arrays.files
        }
        for index in range(count)
    ]
    options = {"preset": nncf.QuantizationPreset.MIXED, "fast_bias_correction": False}
    quantized = nncf.quantize(
        openvino.Core().read_model(arguments.source),
        nncf.Dataset(samples),
        subset_size=count,
        **(options if arguments.accurate else {}),
    )
    openvino.save_model(quantized, arguments.target, compress_to_fp16=False)


if __name__ == "__main__":
    main()
