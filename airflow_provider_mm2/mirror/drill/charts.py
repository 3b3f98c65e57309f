"""The charts of a drill's page, as SVG that takes its colours from the page. Pure."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import pygal
from pygal import XY, Bar, HorizontalStackedBar
from pygal.style import Style

from airflow_provider_mm2.mirror.drill.report import GAME_DAY

# Its finder of map plugins speaks a protocol that Python has given up, and warns at every later import of anybody.
sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, pygal.PluginImportFixer)]

_COLORS = ("var(--blue)", "var(--orange)", "var(--green)", "var(--purple)", "var(--red)")
_LOOK = {
    "background": "transparent",
    "plot_background": "transparent",
    "foreground": "var(--ink)",
    "foreground_strong": "var(--ink)",
    "foreground_subtle": "var(--faint)",
    "opacity": ".9",
    "opacity_hover": "1",
    "font_family": "inherit",
    "label_font_size": 13,
    "major_label_font_size": 13,
    "legend_font_size": 14,
    "value_font_size": 12,
    "title_font_size": 14,
    "guide_stroke_color": "var(--line)",
    "major_guide_stroke_color": "var(--line)",
}
_COMMON: Mapping[str, Any] = {
    "js": [],
    "explicit_size": False,
    "disable_xml_declaration": True,
    "legend_at_bottom": True,
    "legend_at_bottom_columns": 2,
    "width": 760,
    "height": 340,
    "margin": 8,
    "show_dots": False,
    "stroke_style": {"width": 2.5},
    "truncate_legend": -1,
    "truncate_label": -1,
}
"""No script: the page works from a file, without network, and is printed as it is seen."""


DRILL_BARS = ("read on the source", "read on the target")
GAME_DAY_BARS = ("of the source, compared", "read on the target by the copy")


def _drawn(chart: Any) -> str:
    root = chart.render_tree()
    for parent in list(root.iter()):
        for script in [child for child in parent if str(child.tag).endswith("script")]:
            parent.remove(script)
    return ElementTree.tostring(root, encoding="unicode")


def timeline(phases: Sequence[Mapping[str, Any]]) -> str:
    """Each phase as a bar from its begin to its end, in seconds from the drill's begin."""
    style = Style(**_LOOK, colors=("transparent", *_COLORS))
    chart = HorizontalStackedBar(**{**_COMMON, "style": style, "show_legend": False, "height": 60 + 26 * len(phases)})
    ordered = list(reversed(phases))
    chart.x_labels = [phase["name"] for phase in ordered]
    chart.add("begin", [phase["begin"] for phase in ordered])
    chart.add("seconds", [phase["seconds"] for phase in ordered])
    return _drawn(chart)


def over_time(samples: Sequence[Mapping[str, Any]], series: Mapping[str, Sequence[float]], *, unit: str) -> str:
    """Lines over the seconds of a drill."""
    chart = XY(**_COMMON, margin_bottom=24, style=Style(**_LOOK, colors=_COLORS), x_title="seconds", y_title=unit)
    for name, values in series.items():
        points = [(sample["seconds"], value) for sample, value in zip(samples, values, strict=True)]
        chart.add(name, points)
    return _drawn(chart)


def lags(samples: Sequence[Mapping[str, Any]]) -> str:
    """How many records the mirror and each group are behind what is written."""
    series = {"mirror": [max(0, sample["written"] - sample["mirrored"]) for sample in samples]}
    for group in _groups(samples):
        series[group] = [max(0, sample["written"] - sample["read"].get(group, 0)) for sample in samples]
    return over_time(samples, series, unit="records behind")


def throughput(samples: Sequence[Mapping[str, Any]]) -> str:
    """Records a second that were written, and read by each group, each over about a second."""
    series = {"written": _rates(samples, [sample["written"] for sample in samples])}
    for group in _groups(samples):
        series[group] = _rates(samples, [sample["read"].get(group, 0) for sample in samples])
    return over_time(samples, series, unit="records a second")


def progress(samples: Sequence[Mapping[str, Any]]) -> str:
    """How many records were written, mirrored and read by each group."""
    series: dict[str, list[float]] = {name: [sample[name] for sample in samples] for name in ("written", "mirrored")}
    for group in _groups(samples):
        series[group] = [sample["read"].get(group, 0) for sample in samples]
    return over_time(samples, series, unit="records")


def before_and_after(groups: Sequence[Mapping[str, Any]], mode: str) -> str:
    """What each group read on the source and on the target; in a game day what was compared, and what its copy read."""
    chart = Bar(**_COMMON, style=Style(**_LOOK, colors=_COLORS))
    chart.x_labels = [group["group"] for group in groups]
    before, after = GAME_DAY_BARS if mode == GAME_DAY else DRILL_BARS
    chart.add(before, [group["read_before"] for group in groups])
    chart.add(after, [group["read_after"] for group in groups])
    return _drawn(chart)


def trend(drills: Sequence[Mapping[str, Any]]) -> str:
    """RTO and RPO, in seconds, of the last drills."""
    chart = Bar(**_COMMON, style=Style(**_LOOK, colors=_COLORS), x_label_rotation=40)
    chart.x_labels = [drill["drill"][:16].replace("T", " ") for drill in drills]
    chart.add("RTO, seconds", [drill["rto_s"] for drill in drills])
    chart.add("RPO, seconds", [drill["rpo_s"] for drill in drills])
    return _drawn(chart)


def _groups(samples: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted({group for sample in samples for group in sample["read"]})


def _rates(samples: Sequence[Mapping[str, Any]], counts: Sequence[int], width: int = 4) -> list[float]:
    rates: list[float] = []
    for index, _ in enumerate(samples):
        first = max(0, index - width)
        seconds = samples[index]["seconds"] - samples[first]["seconds"]
        rates.append(round(max(0, counts[index] - counts[first]) / seconds, 1) if seconds else 0.0)
    return rates
