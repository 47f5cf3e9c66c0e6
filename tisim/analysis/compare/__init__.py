"""The differences between two results, and the reasons for them.

`read_result` reads what ``tisim replay --json`` wrote, `compare` puts two of them beside each other
(`comparison.py` has the numbers, what differs, and the sentences that explain it).
"""

from tisim.analysis.compare.comparison import Comparison, Difference, RankDifference, compare
from tisim.analysis.result_json import read_file as read_result

__all__ = ["Comparison", "Difference", "RankDifference", "compare", "read_result"]
