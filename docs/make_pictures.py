"""Draw the pictures of the documentation: ``python docs/make_pictures.py``.

`images/diagnosis.svg` is what ``diagnosis_.plot()`` shows in how-to/read-a-diagnosis.md;
`images/lookalike.svg` stands in explanation/what-data-can-tell.md and `images/nonlinear.svg` in
how-to/choose-a-model.md. (`images/demo.svg` comes from ``unmet demo``, `images/bounds.svg` from
``unmet bounds``.)
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
    axes[1].set_title("The same sales, with LatentBand")
    for panel, band in zip(axes, (None, LatentBand(random_state=0)), strict=True):
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
    size = {"hidden": (32, 16), "activation": "tanh", "penalty": 1e-3}
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


def main():
    from matplotlib import rc_context

    settings = {
        "svg.hashsalt": "unmet",  # the same numbers give the same file
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.spines.left": False,
    }
    for draw in (diagnosis, lookalike, nonlinear):
        with rc_context({"svg.hashsalt": "unmet"} if draw is diagnosis else settings):
            draw().savefig(IMAGES / f"{draw.__name__}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
