"""Simulated vLLM pods, and KServe's and Kthena's controllers, for the demo and for tests."""

from lab.simulation.metrics_page import render
from lab.simulation.misbehaviour import Misbehaviour
from lab.simulation.pod_life import Life, Phase
from lab.simulation.server import ModelPod

__all__ = ["Life", "Misbehaviour", "ModelPod", "Phase", "render"]
