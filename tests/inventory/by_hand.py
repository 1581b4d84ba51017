"""A shop unit by unit: slow, plain, and written without the package."""


def follow(on_hand, arrivals, demand, *, life=None, waits=False):
    """Sell units one by one, the oldest first; every period is (sold, unmet, left, spoiled, owed).

    Units are numbers of periods that they can still be sold; `on_hand` is fresh.
    """
    forever = 10**9
    fresh = forever if life is None else life
    units, owed, found = [fresh] * max(on_hand, 0), max(-on_hand, 0) if waits else 0, []
    for came, asked in zip(arrivals, demand, strict=True):
        for _ in range(came):
            if owed:
                owed -= 1
            else:
                units.append(fresh)
        units.sort()
        sold = min(asked, len(units))
        units = [each - 1 for each in units[sold:]]
        spoiled = sum(each == 0 for each in units)
        units = [each for each in units if each > 0]
        unmet = asked - sold
        owed += unmet if waits else 0
        found.append((sold, unmet, len(units), spoiled, owed))
    return found


def cost_of(periods, *, holding, shortage, waste=0.0, waits=False):
    """What they cost, orders aside."""
    return sum(
        holding * left + shortage * (owed if waits else unmet) + waste * spoiled
        for _, unmet, left, spoiled, owed in periods
    )
