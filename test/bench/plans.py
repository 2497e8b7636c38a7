"""Plans as EXPLAIN tells them, in JSON or as text: which of their nodes are gpujoin's."""

# What joins in the engine, alone or with the aggregate above it.
JOINING = ("GPU Join", "GPU Aggregate")


def is_ours(node):
    return node.get("Custom Plan Provider", "").startswith("GPU")


def find_join(plan):
    """The first node that joins in the engine; None: there is none."""
    if plan.get("Custom Plan Provider") in JOINING:
        return plan
    return next(filter(None, map(find_join, plan.get("Plans", []))), None)


def count_joins(text):
    return sum(text.count(f"({name})") for name in JOINING)
