"""What happened in a simulation: recorded, written to files, and made sense of."""

from tisim.recording.recording import Recording
from tisim.recording.session import Session

__all__ = ["Recording", "Session"]
