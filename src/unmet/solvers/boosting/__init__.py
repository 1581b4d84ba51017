"""Boosted trees whose leaves minimise the cost exactly.

Decisions are F(x) = start + Σ_m η T_m(x), with trees T_m and a learning rate η. Each tree improves
the mean cost Σ_i w_i c_i(F(x_i)) of the decisions so far, in two steps (Friedman 2001, TreeBoost):

1. *Splits.* LightGBM gets a gradient g_i and a curvature h_i for each row. It splits where G²/H,
   the gain of a quadratic model, grows most (G and H sum g and h over a leaf). The gradient is a
   subgradient of the cost. A piecewise-linear cost has no second derivative. That of the *expected*
   cost replaces it: (below + above) times the density of the truth. The density is unknown and
   taken as constant, so h_i is the slope that the row adds at its kinks. A row with twice the costs
   therefore counts like a row with twice the weight. Squared error has constant curvature, and so
   do other costs.
2. *Leaves.* The quadratic model proposes −G/H, which for a newsvendor is a share of rows and not an
   amount. A leaf in which all sales are 1,000 above the decision would move no more than one in
   which they are 1 above. Each leaf therefore gets the value that minimises the cost of its own
   rows, ::

       v_l  =  argmin_v  Σ_{i in leaf l}  w_i c_i(F(x_i) + v)

   For a newsvendor without a band this is the α-quantile of the residuals in the leaf. LightGBM's
   own quantile objective renews its leaves in the same way; a custom objective of LightGBM does
   not. With bands and with costs per row it is the minimum of a sum of hinges, found by sorting
   (`leaves.py`).

If many values cost the same, the leaf takes the one nearest to 0: decisions that cost nothing do
not move. This is the convention of the subgradient, which is 0 in the band. A leaf in the middle of
its interval would drift with every tree.

References
----------
J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics
29 (2001). G. Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NeurIPS
2017.
"""
