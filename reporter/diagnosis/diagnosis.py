"""What is wrong with a pod: the values stand with the model, as findings and the report carry them."""

from reporter.model.diagnosis import Diagnosis, Sureness

__all__ = ["Diagnosis", "Sureness"]
