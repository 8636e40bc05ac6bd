"""Simulated vLLM pods, and what KServe's and Kthena's controllers do, for the demo and for tests."""

from lab.simulation.families import Feature
from lab.simulation.metrics_page import FrontEnd, ServerFlags, render
from lab.simulation.misbehaviour import Misbehaviour
from lab.simulation.phases import Phase, Stage, start_up
from lab.simulation.pod_life import Life
from lab.simulation.server import ModelPod

__all__ = [
    "Feature",
    "FrontEnd",
    "Life",
    "Misbehaviour",
    "ModelPod",
    "Phase",
    "ServerFlags",
    "Stage",
    "render",
    "start_up",
]
