"""One small configuration for every network of the catalogue, for tests that run over all of them."""

from gantune.networks.contract import Config

_STYLE: Config = {
    "z_dim": 8,
    "c_dim": 3,
    "w_dim": 8,
    "img_resolution": 16,
    "img_channels": 3,
    "channel_base": 128,
    "channel_max": 8,
    "mapping_kwargs": {"num_layers": 2},
}
_STYLE_DISCRIMINATOR: Config = {
    "c_dim": 3,
    "img_resolution": 16,
    "img_channels": 3,
    "channel_base": 128,
    "channel_max": 8,
}
SMALL_GENERATORS: dict[str, Config] = {
    "stylegan2": _STYLE,
    "stylegan3": {**_STYLE, "num_layers": 4, "num_critical": 1, "margin_size": 4},
    "biggan": {"widths": [8, 8, 4], "attention_blocks": [0], "z_dim": 9, "num_classes": 3, "shared_dim": 4},
    "biggan_deep": {
        "widths": [8, 8, 4],
        "attention_blocks": [0],
        "z_dim": 8,
        "num_classes": 3,
        "shared_dim": 4,
    },
    "dcgan": {"layers": [{"width": 8}, {"width": 3}], "z_dim": 6},
    "srvgg": {"num_feat": 4, "num_conv": 2, "upscale": 2},
    "rrdb": {"num_feat": 4, "num_block": 1, "num_grow_ch": 2},
    "cyclegan": {"num_feat": 8, "num_block": 1, "num_downsamplings": 1, "norm": "instance_affine"},
}
SMALL_DISCRIMINATORS: dict[str, Config] = {
    "stylegan2": _STYLE_DISCRIMINATOR,
    "stylegan3": _STYLE_DISCRIMINATOR,
    "biggan": {"resolution": 16, "widths": [8, 8], "num_classes": 3},
    "dcgan": {"resolution": 16, "widths": [4, 8], "num_classes": 3},
}
