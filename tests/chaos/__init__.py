"""Mirror runs, failovers and topic changes under faults that a seed chooses, judged by what every reader must see."""
