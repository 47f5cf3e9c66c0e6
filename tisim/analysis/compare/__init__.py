"""The differences between two results, and the reasons for them.

`read_result` reads the output of ``tisim replay --json``; `compare` compares two results
(`comparison.py` contains the numbers, the differences, and the sentences that explain them).
"""

from tisim.analysis.compare.comparison import Comparison, Difference, RankDifference, compare
from tisim.analysis.result_json import read_file as read_result

__all__ = ["Comparison", "Difference", "RankDifference", "compare", "read_result"]
