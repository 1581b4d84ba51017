"""What should each buyer be asked, if all we know is who said yes and who said no?

Offers of the past: features of the buyer, the price that was asked, the answer. Accepted prices
hide what the buyer would have paid, rejected ones that it was less. Four sellers price the coming
buyers; each learns from more than the one before. The simulation knows what every buyer would
pay and tells what the prices cost (eq. cp) and what they earn.
"""

from unmet import CustomPricing, LatentBand, Limits, LinearDecision
from unmet.evaluation import best_price, realised_cost, realised_revenue
from unmet.simulate import pricing

UNIT_COST = 20


def main() -> None:
    data = pricing("lognormal", policy="personal", n=1500, seed=1)
    past, coming = data.train, data.test
    cost = CustomPricing(underprice=2, overprice=1)
    deals = past.accepted
    print(f"{len(past):,} offers, {deals.mean():.0%} of them accepted\n")

    alone = LinearDecision(cost).fit(past.features[deals], past.offer[deals])
    rate = LinearDecision(cost, band=LatentBand(float(deals.mean()), random_state=0))
    rate.fit(past.features[deals], past.offer[deals])
    both = LinearDecision(cost, band=LatentBand(random_state=0))
    both.fit(past.features, past.offer, censored=Limits.offers(past.offer, past.accepted))
    print(both.diagnosis_, "\n")

    prices = {
        "prices as offered": coming.offer,
        "deals alone": alone.predict(coming.features),
        "and the share accepted": rate.predict(coming.features),
        "and rejected offers": both.predict(coming.features),
        "the best quantile": coming.optimum(cost.level),
        "for revenue, learned": best_price(both.band_rule_, coming.features, unit_cost=UNIT_COST),
        "for revenue, the best": coming.best_price(UNIT_COST),
    }
    print(f"{'':24}{'mean price':>12}{'cost':>8}{'revenue':>10}")
    for name, price in prices.items():
        paid = realised_cost(cost, price, coming.truth)
        earned = realised_revenue(price, coming.truth, unit_cost=UNIT_COST)
        print(f"{name:24}{price.mean():12.1f}{paid:8.1f}{earned:10.1f}")


if __name__ == "__main__":
    main()
