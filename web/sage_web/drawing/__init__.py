"""Drawings without a library: where boxes lie and how lines run, as plain numbers that templates write as SVG."""
