"""Draw the pictures of the pages on censoring: ``python docs/make_pictures.py``.

`images/diagnosis.svg` is what ``diagnosis_.plot()`` shows in how-to/read-a-diagnosis.md;
`images/lookalike.svg` stands in explanation/what-data-can-tell.md. (`images/demo.svg` comes from
``unmet demo``.)
"""

from pathlib import Path

IMAGES = Path(__file__).parent / "images"
LEVEL = 0.8
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#999999"  # Okabe and Ito


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


def main():
    from matplotlib import rc_context

    settings = {
        "svg.hashsalt": "unmet",  # the same numbers give the same file
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.spines.left": False,
    }
    for draw in (diagnosis, lookalike):
        with rc_context(settings if draw is lookalike else {"svg.hashsalt": "unmet"}):
            draw().savefig(IMAGES / f"{draw.__name__}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
