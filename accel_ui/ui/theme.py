"""The look: one theme, light and dark, with nothing fetched from elsewhere."""

from __future__ import annotations

import gradio as gr

SANS = ["ui-sans-serif", "system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"]
MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"]

CSS = """
.gradio-container {max-width: 1120px !important; margin: 0 auto !important}
.au-header {display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 14px}
.au-header h1 {font-size: 1.35rem; margin: 0; letter-spacing: -.01em}
.au-muted {color: var(--body-text-color-subdued)}
.au-line {min-height: 1.5em; line-height: 1.5}
.au-line.bad {color: var(--error-text-color)}
.au-dot {display: inline-block; width: .55em; height: .55em; border-radius: 50%; margin-right: .45em;
  background: var(--body-text-color-subdued)}
.au-dot.ready {background: #16a34a}
.au-dot.eager, .au-dot.cold {background: #d97706}
.au-dot.compiling, .au-dot.loading {background: #2563eb; animation: au-pulse 1.2s ease-in-out infinite}
.au-dot.failed, .au-dot.closing {background: #dc2626}
@keyframes au-pulse {50% {opacity: .3}}
@media (prefers-reduced-motion: reduce) {.au-dot {animation: none !important}}
.au-states {display: grid; grid-template-columns: max-content 1fr; gap: 2px 12px; font-size: .85rem}
.au-bar {height: 6px; border-radius: 3px; overflow: hidden; background: var(--border-color-primary)}
.au-bar > i {display: block; height: 100%; background: var(--color-accent); transition: width .15s linear}
.au-table {overflow-x: auto}
.au-table table {width: 100%; border-collapse: collapse; font-size: .85rem}
.au-table th, .au-table td {text-align: left; padding: 4px 12px 4px 0 !important; vertical-align: top;
  border: 0 !important; border-bottom: 1px solid var(--border-color-primary) !important}
.au-table table, .au-table thead, .au-table tr {border: 0 !important}
.au-table td.num, .au-table th.num {text-align: right; white-space: nowrap}
#picture img, #left-picture img, #right-picture img {width: 100%; height: 100%; object-fit: contain}
#pictures .grid-container {grid-template-columns: repeat(auto-fill, minmax(112px, 1fr)) !important;
  grid-template-rows: none !important; grid-auto-rows: 112px !important; height: auto !important}
#pictures .grid-wrap {max-height: 250px; min-height: 0 !important}
#pictures {height: auto !important; min-height: 130px}
#dice {align-self: end}
@media (max-width: 768px) {
  #result {order: -1}
  #picture {height: auto !important; min-height: 220px}
  #picture .image-frame {width: 100% !important; height: auto !important}
  #picture img {width: 100% !important; height: auto !important}
}
footer, footer button {opacity: 1 !important; color: var(--body-text-color-subdued) !important}
button[role=tab].selected {color: var(--primary-700) !important}
.dark button[role=tab].selected {color: var(--primary-400) !important}
"""


def make_theme() -> gr.themes.Base:
    """System fonts, one accent, quiet surfaces."""
    return gr.themes.Base(
        primary_hue=gr.themes.colors.teal,
        secondary_hue=gr.themes.colors.teal,
        neutral_hue=gr.themes.colors.slate,
        radius_size=gr.themes.sizes.radius_md,
        font=SANS,
        font_mono=MONO,
    ).set(
        body_background_fill="*neutral_50",
        body_background_fill_dark="*neutral_950",
        block_background_fill="white",
        block_background_fill_dark="*neutral_900",
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_hover="*primary_800",
        button_primary_background_fill_dark="*primary_700",
        button_primary_background_fill_hover_dark="*primary_600",
        button_primary_text_color="white",
        # Readable on both backgrounds: a contrast of at least 4.5 to 1.
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_400",
        block_label_text_color="*neutral_600",
        block_label_text_color_dark="*neutral_300",
        block_title_text_color="*neutral_700",
        block_title_text_color_dark="*neutral_200",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_400",
        input_placeholder_color="*neutral_600",
        input_placeholder_color_dark="*neutral_300",
        block_shadow="none",
    )
