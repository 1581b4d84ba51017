"""Draw the plots of the documentation: ``python docs/make_plots.py [name …]``.

`images/diagnosis.svg` is what ``diagnosis_.plot()`` shows in guides/diagnose.md;
`images/lookalike.svg` stands in concepts/what-data-can-tell.md, `images/nonlinear.svg` in
guides/models.md, `images/pricing.svg` in guides/price.md, `images/replacement.svg` in
guides/replace.md, `images/till-hours.svg` in guides/hours.md. (`images/demo.svg` comes from
``python -m paper demo``, `images/bounds.svg` from ``python -m paper bounds``.)
"""

import sys
from pathlib import Path

IMAGES = Path(__file__).parent / "images"
LEVEL = 0.8
FOUND = ("ink", (2, 3), "stroke")
THICK = ("ink", (2, 3), "stroke")
DOTS, LOST = ("grey", None, "circle"), ("sky", None, "diamond")


def diagnosis():
    """Draw what the page prints once demand is known to be normal."""
    from unmet import LatentBand, LinearDecision, Newsvendor
    from unmet.simulate import censoring_lab

    train = censoring_lab("normal", orders="noisy", noise=0.25, n=1350).train
    rule = LatentBand(families="normal", random_state=0)
    model = LinearDecision(Newsvendor(underage=4, overage=1), band=rule)
    return model.fit(train.features, train.sales).diagnosis_.plot()


def lookalike():
    """Draw one bell of sales and two demands that it may come from.

    Logarithms of survival functions add up: log P(S > s) = log P(D > s) + log P(Q > s). Demand
    gets the share 1 - c of the sum and orders the rest; then sales are the same for every c, and
    the share c of them is sold out.
    """
    import numpy as np
    from scipy.stats import norm

    from unmet.charts import at, axis, curve, panels

    mean, spread, hidden = 100.0, 15.0, 0.4
    sales = norm(mean, spread)
    units = np.linspace(mean - 3 * spread, mean + 5 * spread, 200)

    def density(share):
        return share * sales.sf(units) ** (share - 1) * sales.pdf(units)

    def part(share):
        best = sales.isf((1 - LEVEL) ** (1 / share))
        parts = [
            curve("sales, as seen", ("grey", (2, 2), "stroke"), units, sales.pdf(units)),
            curve("demand", "truth", units, density(share)),
            at(f"best order {best:.0f}", "found" if share < 1 else FOUND, best),
        ]
        if share < 1:
            parts.insert(2, curve("orders", "fitted", units, density(hidden)))
        return parts

    titles = {"Nothing is hidden": 1.0, f"{hidden:.0%} of the days sold out": 1 - hidden}
    upward = axis(domain=(0, 0.028), hidden=True)
    shown = {title: part(share) for title, share in titles.items()}
    return panels(shown, x="units a day", y=upward, width=330, height=220)


def nonlinear():
    """Draw orders against the price: each model beside the best, without a band and with one.

    A point of a line is the mean order of many test rows of about that price. They differ in
    weekday, temperature and season, but in the same way at every price.
    """
    import numpy as np

    from unmet import LatentBand
    from unmet.charts import curve, panels
    from unmet.simulate import nonlinear_demand

    data = nonlinear_demand(seed=0, n_test=400_000)
    train, test = data.train, data.test
    rows, price = warm_lemonade(test)
    edges = np.linspace(0.7, 1.1, 25)
    place, middle = np.digitize(price, edges[1:-1]), 0.5 * (edges[1:] + edges[:-1])

    def by_price(orders):
        return np.bincount(place, orders) / np.bincount(place)

    known = LatentBand(families="normal", random_state=0)
    titles = {"Sales taken for demand": None, "With a band (demand known to be normal)": known}
    shown = {}
    for title, band in titles.items():
        parts = draw_sales(train, hidden=band is not None)
        parts.append(curve("best order", THICK, middle, by_price(test.optimum(LEVEL)[rows])))
        for name, model, style in models():
            model.set_params(band=band).fit(train.features, train.sales)
            parts.append(curve(name, style, middle, by_price(model.predict(test.features[rows]))))
        shown[title] = parts
    words = {"x": "price, as a share of the usual one", "y": "lemonade on warm days, units"}
    return panels(shown, **words, width=330, height=300)


def models():
    """Give names, models and styles of lines."""
    from unmet import BoostedDecision, LinearDecision, NeuralDecision, Newsvendor

    cost = Newsvendor.at_level(LEVEL)
    size = {"hidden_layer_sizes": (32, 16), "activation": "tanh", "strength": 1e-3}
    yield "linear", LinearDecision(cost), ("vermilion", (8, 3, 2, 3), "stroke")
    yield "neural", NeuralDecision(cost, **size, random_state=0), ("blue", (1, 0), "stroke")
    yield "boosted", BoostedDecision(cost, random_state=0), ("green", (6, 4), "stroke")


def warm_lemonade(part):
    """Find warm days without a promotion, of the product that markdowns move most; their prices."""
    _, _, promotion, price, temperature, _ = part.codes.T
    rows = (part.category == "lemonade") & (promotion == 0) & (temperature > 18)
    return rows.nonzero()[0], price[rows]


def draw_sales(part, hidden):
    """Draw what is seen, or beside it what is not."""
    from unmet.charts import curve

    rows, price = warm_lemonade(part)
    sales, demand, sold_out = part.sales[rows], part.demand[rows], part.censored[rows]
    if not hidden:
        return [curve("sales", DOTS, price, sales)]
    lost = curve("demand where sold out, not seen", LOST, price[sold_out], demand[sold_out])
    return [curve("sales", DOTS, price[~sold_out], sales[~sold_out]), lost]


def pricing():
    """Draw the chance of a deal and the revenue per offer for one kind of buyer."""
    import numpy as np

    from unmet import CustomPricing, LatentBand, Limits, LinearDecision
    from unmet.charts import axis, curve, lines, side_by_side
    from unmet.simulate import pricing as simulated

    unit_cost = 20.0
    past = simulated("gumbel", policy="discounts", seed=0).train
    buyer = past.mean.argsort()[len(past) // 2]
    model = LinearDecision(CustomPricing(2, 1), band=LatentBand(random_state=0))
    deals, limits = past.accepted, Limits.offers(past.offer, past.accepted)
    alone = model.fit(past.features[deals], past.offer[deals]).band_rule_
    learned = model.fit(past.features, past.offer, censored=limits).band_rule_
    price = np.linspace(40.0, 160.0, 200)
    alike = np.tile(past.features[buyer], (price.size, 1))
    truth = np.array([past.survival(float(each))[buyer] for each in price])
    left, right = [answers(past, buyer)], []
    for name, chance, (colour, dash) in (
        ("what buyers would pay", truth, ("ink", (2, 3))),
        ("learned from all offers", learned.survival(alike, price), ("blue", (1, 0))),
        ("from deals alone", alone.survival(alike, price), ("vermilion", (6, 4))),
    ):
        revenue = (price - unit_cost) * chance
        best, style = revenue.argmax(), (colour, dash, "stroke")
        left.append(curve(name, style, price, chance))
        right.append(curve(name, style, price, revenue))
        right.append(curve("", (colour, None, "circle"), [price[best]], [revenue[best]]))
    legend = {name: style for name, style, *_ in left}
    legend |= {f" {place}": style for place, (_, style, *_) in enumerate(right)}
    words = {"x": "price asked of one kind of buyer", "legend": legend}
    chances = lines(left, title="Chance of a deal", y=axis(zero=True, form=".0%"), **words)
    earned = "Expected revenue, and the best price"
    return side_by_side(chances, lines(right, title=earned, y=axis(zero=True), **words), width=330)


def answers(part, buyer):
    """Give the share of offers accepted by those who would pay about as much as one buyer."""
    import numpy as np

    from unmet.charts import curve

    like = np.abs(part.mean / part.mean[buyer] - 1) < 0.06
    edges = np.linspace(part.offer.min(), part.offer.max(), 9)
    place = np.digitize(part.offer[like], edges[1:-1])
    count = np.bincount(place)
    share = np.bincount(place, part.accepted[like]) / count
    middle = np.bincount(place, part.offer[like]) / count
    return curve("offers accepted, buyers alike", ("grey", None, "circle"), middle, share)


def replacement():
    """Draw the cost rate of two real kinds of parts over the age, with and without suspensions."""
    import numpy as np

    from unmet.charts import axis, curve, lines, side_by_side, span
    from unmet.costs import AgeReplacement
    from unmet.data import load_sae, load_tires
    from unmet.lifetimes import replacement_age

    cases = (
        ("Tires, a failure costs 10 times as much", load_tires(), 10, 1.4),
        ("Component, a failure costs 20 times as much", load_sae(), 20, 160_000),
    )
    drawn = []
    for title, table, failure, most in cases:
        cost, flags = AgeReplacement(1, failure), table["suspended"].to_numpy()
        how = {"method": "weibull"}
        known = replacement_age(cost, table["time"], censored=flags, confidence=0.9, **how)
        taken = replacement_age(cost, table["time"], confidence=None, **how)
        low, high = np.minimum(known.interval, most)
        parts = [span("90% interval of its best age", "range", low, high)]
        for found, name, style in (
            (known, "suspensions known", ("blue", (1, 0), "stroke")),
            (taken, "suspensions taken for failures", ("vermilion", (6, 4), "stroke")),
        ):
            kept = found.ages <= most
            parts.append(curve(name, style, found.ages[kept], found.costs[kept]))
            parts.append(curve("", (style[0], None, "circle"), [found.age], [found.cost]))
        across = axis("age of replacement", domain=(0, most), n_ticks=4)
        upward = axis("cost per unit of time", domain=(0, 3.2 * known.cost), n_ticks=4)
        drawn.append(lines(parts, title=title, x=across, y=upward, height=240))
    return side_by_side(*drawn, width=330)


def till_hours():
    """Draw two weeks of a roll whose shelf is empty on busy afternoons, as the clock sees them."""
    import numpy as np
    import polars as pl

    from unmet.censoring.hours import HourlySales, detect_stockouts

    generator = np.random.default_rng(0)
    shape = np.array([9, 12, 8, 6, 6, 7, 5, 4, 4, 6, 7, 4]) / 78  # from 7 to 19 o'clock
    levels = np.array([45, 30, 80, 60])
    level = levels[:, None] * generator.gamma(12, 1 / 12, (4, 84))
    demand = np.zeros((4, 84, 24))
    demand[:, :, 7:19] = generator.poisson(level[:, :, None] * shape)
    baked = np.round(1.1 * levels)[:, None, None]
    sales = np.minimum(demand, np.maximum(baked - (np.cumsum(demand, axis=2) - demand), 0))
    items = pl.DataFrame({"item": ["roll", "bun", "pretzel", "croissant"]})
    hours = HourlySales.from_arrays(sales, "2024-03-04", keys=items)
    return draw_days(detect_stockouts(hours), 14)


def draw_days(reading, n_days):
    """Draw the last days of the first item: a dot for an hour's sales, shaded if likely empty."""
    from unmet.charts import COLOURS, Chart, config

    hours, rows, texts = reading.hours, [], []
    lost = (reading.demand - reading.sold)[0]
    opens, closes = hours.window(0)
    for day in range(hours.n_days)[-n_days:]:
        name, chance = f"{hours.dates[day].astype(object):%a %Y-%m-%d}", reading.probability[0, day]
        text = f"{hours.sales[0, day].sum():g} sold"
        if chance > 0.5:
            text += f"; sold out (p = {chance:.2f}), about {lost[day]:.2g} more asked for"
        texts.append({"row": name, "text": text})
        for hour in range(opens, closes):
            empty = 1.0 - float(reading.stock[0, day, hour])
            sold = float(hours.sales[0, day, hour])
            rows.append({"row": name, "x": hour, "size": sold, "shade": empty})
    across = {"field": "x", "type": "ordinal", "title": "hour of the day"}
    across["axis"] = {"labelAngle": 0}
    order = [each["row"] for each in texts]
    down = {"field": "row", "type": "nominal", "sort": order, "title": None}
    dot = {"field": "size", "type": "quantitative", "title": "sales of the hour"}
    dot["scale"] = {"range": [0, 160]}
    dark = {"field": "shade", "type": "quantitative", "title": "shelf likely empty"}
    dark["scale"] = {"domain": [0, 1], "range": ["#ffffff00", COLOURS["orange"][0]]}
    both = {"x": across, "y": down}
    beside = {"y": down, "x": {"value": {"expr": "width + 6"}}, "text": {"field": "text"}}
    mark = {"type": "circle", "color": COLOURS["blue"][0], "opacity": 1}
    text = {"type": "text", "align": "left", "fontSize": 11}
    layers = [
        {"mark": "rect", "encoding": {**both, "color": dark}},
        {"mark": mark, "encoding": {**both, "size": dot}},
        {"data": {"values": texts}, "mark": text, "encoding": beside},
    ]
    spec = {"width": {"step": 26}, "height": {"step": 22}, "title": "Sales by the hour: roll"}
    return Chart(spec | {"data": {"values": rows}, "layer": layers, "config": config()})


def main(names):
    every = (diagnosis, lookalike, nonlinear, pricing, replacement, till_hours)
    for draw in every:
        name = draw.__name__.replace("_", "-")
        if not names or name in names:
            draw().save(IMAGES / f"{name}.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
