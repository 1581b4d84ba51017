"""Demand that bends, hidden by empty shelves: a line, a network and boosted trees.

Needs LightGBM beside unmet: pip install 'unmet[boost]'.

Two simulated years of four products. Markdowns work below a threshold only, each product has a
temperature of its own, and promotions are worth most on Saturdays; about half of the rows sold out.
Each model learns three times: from sales taken for demand, from the same sales with a band that is
learned from them, and from the demand itself, which no shop has. Orders are evaluated on the true
demand of the days after. The band is told one thing: that demand scatters as a normal distribution
does. Without that it would say "no", since a demand of another shape could explain the same sales.
"""

from sklearn.base import clone

from unmet import BoostedDecision, LatentBand, LinearDecision, NeuralDecision, Newsvendor
from unmet.evaluation import realised_cost
from unmet.simulate import nonlinear_demand


def main() -> None:
    data = nonlinear_demand(seed=0)
    train, test = data.train, data.test
    cost = Newsvendor(underage=4, overage=1)
    models = {
        "linear": LinearDecision(cost),
        "neural": NeuralDecision(
            cost, hidden_layer_sizes=(32, 16), activation="tanh", strength=1e-3, random_state=0
        ),
        "boosted": BoostedDecision(cost, random_state=0),
    }

    def learn(name, seen, band=None):
        return clone(models[name]).set_params(band=band).fit(train.features, seen)

    def price(model) -> float:
        return realised_cost(cost, model.decide(test.features), test.demand)

    rule = LatentBand(families="normal", random_state=0)
    informed = {name: learn(name, train.sales, rule) for name in ("linear", "neural")}
    # The band takes most of the time, and every model that bends learns the same: share it.
    informed["boosted"] = learn("boosted", train.sales, informed["neural"].band_)

    print(f"{len(train):,} rows to learn from, {train.censored.mean():.0%} of them sold out\n")
    for name in ("linear", "neural"):
        says = informed[name].diagnosis_
        print(f"{name}: identified: {says.identified}, {says.share_censored:.0%} of rows hidden")
    print("\ncost per row   sales as demand   LatentBand   demand itself")
    for name in models:
        ignoring, knowing = learn(name, train.sales), learn(name, train.demand)
        costs = [price(model) for model in (ignoring, informed[name], knowing)]
        print("{:<12} {:>17.2f} {:>12.2f} {:>15.2f}".format(name, *costs))
    best = realised_cost(cost, test.optimum(cost.level), test.demand)
    print(f"{'the best':<12} {best:>46.2f}")


if __name__ == "__main__":
    main()
