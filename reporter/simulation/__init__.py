"""Simulated vLLM pods, and what KServe's and Kthena's controllers do, for the demo and for tests."""

from reporter.simulation.families import Feature
from reporter.simulation.life import Life
from reporter.simulation.misbehaviour import Misbehaviour
from reporter.simulation.page import FrontEnd, Server, render
from reporter.simulation.phases import Phase, Stage, start_up
from reporter.simulation.server import ModelPod

__all__ = [
    "Feature",
    "FrontEnd",
    "Life",
    "Misbehaviour",
    "ModelPod",
    "Phase",
    "Server",
    "Stage",
    "render",
    "start_up",
]
