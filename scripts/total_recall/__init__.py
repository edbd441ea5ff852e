"""Total Recall: an agent's memory that writes itself."""

__version__ = "0.1.0"
