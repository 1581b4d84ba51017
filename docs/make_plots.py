"""Draw the plots of the documentation: ``python docs/make_plots.py``.

`images/diagnosis.svg` is what ``diagnosis_.plot()`` shows in how-to/read-a-diagnosis.md;
`images/lookalike.svg` stands in explanation/what-data-can-tell.md and `images/nonlinear.svg` in
how-to/choose-a-model.md, `images/pricing.svg` in how-to/price.md,
`images/allocation.svg` in how-to/carry-out.md, `images/replacement.svg` in
how-to/replace.md, `images/till-hours.svg` in how-to/till-hours.md. (`images/demo.svg` comes from
``python -m paper demo``, `images/bounds.svg` from ``python -m paper bounds``.)
"""

from pathlib import Path

IMAGES = Path(__file__).parent / "images"
LEVEL = 0.8
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"  # Okabe and Ito


def diagnosis():
    """Draw what the page prints."""
    from unmet import LatentBand, LinearDecision, Newsvendor
    from unmet.simulate import censoring_lab

    train = censoring_lab("normal", orders="noisy", noise=0.25, n=1350).train
    model = LinearDecision(Newsvendor(underage=4, overage=1), band=LatentBand(random_state=0))
    return model.fit(train.features, train.sales).diagnosis_.plot()


def lookalike():
    """Draw one bell of sales and two demands that it may come from.

    Logarithms of survival functions add up: log P(S > s) = log P(D > s) + log P(Q > s). Demand
    gets the share 1 - c of the sum and orders the rest; then sales are the same for every c, and
    the share c of them is sold out.
    """
    import numpy as np
    from matplotlib.figure import Figure
    from scipy.stats import norm

    mean, spread, hidden = 100.0, 15.0, 0.4
    sales = norm(mean, spread)
    at = np.linspace(mean - 3 * spread, mean + 5 * spread, 400)

    def density(share):
        return share * sales.sf(at) ** (share - 1) * sales.pdf(at)

    def quantile(share):
        return sales.isf((1 - LEVEL) ** (1 / share))

    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    titles = ("Nothing is hidden", f"{hidden:.0%} of the days sold out")
    for panel, share, title in zip(axes, (1.0, 1 - hidden), titles, strict=True):
        panel.fill_between(at, sales.pdf(at), color=GREY, alpha=0.35, lw=0, label="sales, as seen")
        panel.plot(at, density(share), color=BLUE, lw=2, label="demand")
        if share < 1:
            panel.plot(at, density(hidden), color=ORANGE, lw=1.6, ls="--", label="orders")
        best = quantile(share)
        panel.axvline(best, color="black", lw=1.2, ls=":")
        panel.annotate(
            f"best order {best:.0f}",
            (best, 0.97),
            xycoords=("data", "axes fraction"),
            xytext=(5, 0),
            textcoords="offset points",
            va="top",
        )
        panel.set_title(title)
        panel.set_xlabel("units a day")
        panel.set_yticks([])
    axes[0].set_ylim(bottom=0)
    handles, labels = axes[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def nonlinear():
    """Draw orders against the price: each model beside the best, without a band and with one.

    A point of a line is the mean order of many test rows of about that price. They differ in
    weekday, temperature and season, but in the same way at every price.
    """
    import numpy as np
    from matplotlib.figure import Figure

    from unmet import LatentBand
    from unmet.simulate import nonlinear_demand

    data = nonlinear_demand(seed=0, n_test=400_000)
    train, test = data.train, data.test
    rows, price = warm_lemonade(test)
    edges = np.linspace(0.7, 1.1, 25)
    place, middle = np.digitize(price, edges[1:-1]), 0.5 * (edges[1:] + edges[:-1])

    def by_price(orders):
        return np.bincount(place, orders) / np.bincount(place)

    figure = Figure(figsize=(8.4, 4.5), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    draw_sales(axes, train)
    axes[0].set_title("Sales taken for demand")
    axes[1].set_title("The same sales, with a band (demand known to be normal)")
    for panel, band in zip(
        axes, (None, LatentBand(families="normal", random_state=0)), strict=True
    ):
        best = by_price(test.optimum(LEVEL)[rows])
        panel.plot(middle, best, color="black", lw=3.5, alpha=0.3, label="best order")
        for name, model, look in models():
            model.set_params(band=band).fit(train.features, train.sales)
            panel.plot(middle, by_price(model.predict(test.features[rows])), label=name, **look)
        panel.set_xlabel("price, as a share of the usual one")
        panel.grid(axis="y", color=GREY, alpha=0.25, lw=0.6)
    axes[0].set_ylabel("lemonade on warm days, units")
    (dots, *lines), (hidden, *_) = (panel.get_legend_handles_labels()[0] for panel in axes)
    figure.legend(
        handles=[dots, hidden, *lines], loc="outside lower center", ncols=3, frameon=False
    )
    return figure


def models():
    """Give names, models and looks of lines."""
    from unmet import BoostedDecision, LinearDecision, NeuralDecision, Newsvendor

    cost = Newsvendor.at_level(LEVEL)
    size = {"hidden_layer_sizes": (32, 16), "activation": "tanh", "strength": 1e-3}
    yield "linear", LinearDecision(cost), {"color": ORANGE, "ls": "-."}
    yield "neural", NeuralDecision(cost, **size, random_state=0), {"color": BLUE, "ls": "-"}
    yield "boosted", BoostedDecision(cost, random_state=0), {"color": GREEN, "ls": "--"}


def warm_lemonade(part):
    """Find warm days without a promotion, of the product that markdowns move most; their prices."""
    _, _, promotion, price, temperature, _ = part.codes.T
    rows = (part.category == "lemonade") & (promotion == 0) & (temperature > 18)
    return rows.nonzero()[0], price[rows]


def draw_sales(axes, part):
    """Draw what is seen on the left, and on the right also what is not."""
    rows, price = warm_lemonade(part)
    sales, demand, sold_out = part.sales[rows], part.demand[rows], part.censored[rows]
    dots = {"s": 9, "lw": 0.7, "edgecolor": GREY}
    axes[0].scatter(price, sales, color=GREY, label="sales", **dots)
    axes[1].scatter(price[~sold_out], sales[~sold_out], color=GREY, **dots)
    lost = {"facecolor": "none", "label": "demand where sold out, not seen", **dots}
    axes[1].scatter(price[sold_out], demand[sold_out], **lost)


def pricing():
    """Draw the chance of a deal and the revenue per offer for one kind of buyer."""
    import numpy as np
    from matplotlib.figure import Figure

    from unmet import CustomPricing, LatentBand, Limits, LinearDecision
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
    figure = Figure(figsize=(8.4, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    draw_answers(left, past, buyer)
    for name, chance, look in (
        ("what buyers would pay", truth, {"color": "black", "lw": 3.5, "alpha": 0.3}),
        ("learned from all offers", learned.survival(alike, price), {"color": BLUE}),
        ("from deals alone", alone.survival(alike, price), {"color": ORANGE, "ls": "--"}),
    ):
        left.plot(price, chance, label=name, **look)
        revenue = (price - unit_cost) * chance
        right.plot(price, revenue, **look)
        best = revenue.argmax()
        right.plot(price[best], revenue[best], "o", color=look["color"], ms=6)
    left.set_title("Chance of a deal")
    right.set_title("Expected revenue, and the best price")
    for panel in (left, right):
        panel.set_xlabel("price asked of one kind of buyer")
        panel.set_ylim(bottom=0)
        panel.grid(axis="y", color=GREY, alpha=0.25, lw=0.6)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


def draw_answers(panel, part, buyer):
    """Draw the share of offers accepted by those who would pay about as much as one buyer."""
    import numpy as np

    like = np.abs(part.mean / part.mean[buyer] - 1) < 0.06
    edges = np.linspace(part.offer.min(), part.offer.max(), 9)
    place = np.digitize(part.offer[like], edges[1:-1])
    count = np.bincount(place)
    share = np.bincount(place, part.accepted[like]) / count
    middle = np.bincount(place, part.offer[like]) / count
    panel.scatter(middle, share, s=14, color=GREY, label="offers accepted, buyers alike")


def allocation():
    """Draw what a budget is worth to nine products: how-to/carry-out.md.

    Left the expected cost with the budget shared where it saves most, and with all orders cut by
    the same share; right the shadow price, which is the slope of the former.
    """
    import numpy as np
    from matplotlib.figure import Figure
    from scipy.stats import norm

    from unmet import Newsvendor, allocate
    from unmet.simulate import store10

    part = store10(seed=0).test
    mean, price = part.mean[9:18], np.array([0.5, 1.0, 2.0, 1.5, 4.0, 3.0, 2.5, 1.0, 6.0])
    lost = np.array([2, 1, 3, 1, 5, 4, 6, 1.5, 8])
    cost = Newsvendor(lost, price)
    truth = np.maximum(norm.ppf((np.arange(2000) + 0.5) / 2000)[None] * 46.57 + mean[:, None], 0)
    best = allocate(cost, truth, 1e6, use=price)
    budgets = np.linspace(0, 1.15 * best.used, 120)
    shared = [allocate(cost, truth, budget, use=price) for budget in budgets]
    alike = np.minimum(budgets / best.used, 1.0)[:, None] * best.decision
    cut = [
        allocate(cost, truth, 1e6, use=price, lower=orders, upper=orders).expected_cost
        for orders in alike
    ]
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    left.plot(budgets, cut, color=ORANGE, lw=1.6, ls="--", label="all orders cut alike")
    costs = [one.expected_cost for one in shared]
    left.plot(budgets, costs, color=BLUE, lw=2, label="shared by allocate")
    left.set_title("Expected cost of a day")
    left.legend(frameon=False)
    right.plot(budgets, [one.shadow_price for one in shared], color=BLUE, lw=2)
    right.set_title("Worth of one more unit of budget")
    for panel in (left, right):
        panel.axvline(best.used, color="black", lw=1.2, ls=":")
        panel.set_ylim(bottom=0)
        panel.set_xlabel("budget of a day")
        panel.grid(axis="y", color=GREY, alpha=0.25, lw=0.6)
    right.annotate(
        "enough for all",
        (best.used, 0.97),
        xycoords=("data", "axes fraction"),
        xytext=(-5, 0),
        textcoords="offset points",
        va="top",
        ha="right",
    )
    return figure


def replacement():
    """Draw the cost rate of two real kinds of parts over the age, with and without suspensions."""
    import numpy as np
    from matplotlib.figure import Figure

    from unmet.costs import AgeReplacement
    from unmet.data import load_sae, load_tires
    from unmet.lifetimes import replacement_age

    cases = (
        ("Tires, a failure costs 10 times as much", load_tires(), 10, 1.4),
        ("Automotive component, 20 times", load_sae(), 20, 160_000),
    )
    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    for panel, (title, table, failure, most) in zip(figure.subplots(1, 2), cases, strict=True):
        cost, flags = AgeReplacement(1, failure), table["suspended"].to_numpy()
        shown = (
            (flags, 0.9, BLUE, "-", "suspensions known"),
            (None, None, ORANGE, "--", "suspensions taken for failures"),
        )
        for censored, confidence, colour, line, label in shown:
            found = replacement_age(
                cost, table["time"], censored=censored, method="weibull", confidence=confidence
            )
            panel.plot(found.ages, found.costs, color=colour, ls=line, lw=2, label=label)
            panel.plot(found.age, found.cost, "o", color=colour, ms=8)
            if found.interval is not None:
                low, high = np.minimum(found.interval, most)
                panel.axvspan(
                    low, high, color=colour, alpha=0.12, lw=0, label="90 % interval of its best age"
                )
                height = 3.2 * found.cost
        panel.set_title(title)
        panel.set_xlim(0, most)
        panel.set_ylim(0, height)
        panel.set_xlabel("age of replacement")
        panel.set_yticks([])
    figure.axes[0].set_ylabel("cost per unit of time")
    figure.axes[1].xaxis.set_major_formatter("{x:,.0f}")
    figure.axes[1].set_xticks([0, 50_000, 100_000, 150_000])
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


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


def main():
    from matplotlib import rc_context

    settings = {
        "svg.hashsalt": "unmet",  # the same numbers give the same file
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.spines.left": False,
    }
    for draw in (diagnosis, lookalike, nonlinear, pricing, allocation, replacement, till_hours):
        with rc_context({"svg.hashsalt": "unmet"} if draw is diagnosis else settings):
            name = draw.__name__.replace("_", "-")
            drawn = draw()
            if hasattr(drawn, "save"):  # a chart of the library
                drawn.save(IMAGES / f"{name}.svg")
            else:
                drawn.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
