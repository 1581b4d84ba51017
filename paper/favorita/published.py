"""What the paper prints about the stores of Corporación Favorita (App. storeSelect), typed in.

Nothing is computed here: the numbers stand as they are printed, so that ours can stand beside them.
Within each row they agree with one another: F and R² of a regression with 25 dummies imply the
number of rows, which is nowhere above 3,276 = 364 × 9 (the shops close on two days of the year),
and the adjusted R² that follows is the printed one. What does not fit stands outside the tables:
the text speaks of 53 stores, the data have 54; store 52 has no sales in 2016, and store 31 is left
out without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from unmet.data.bundled import MONTHS, WEEKDAYS

#: Families with ``perishable = 1``. The first is the baseline of the dummies; the others are the
#: paper's categories 1 to 8.
PERISHABLE_FAMILIES = (
    "BREAD/BAKERY",
    "DAIRY",
    "DELI",
    "EGGS",
    "MEATS",
    "POULTRY",
    "PREPARED FOODS",
    "PRODUCE",
    "SEAFOOD",
)

PUBLISHED_YEAR = 2016
PUBLISHED_STORE = 10


@dataclass(frozen=True)
class Descriptive:
    """Sales of one store in one number each; the standard deviation divides by n − 1."""

    count: int
    mean: float
    std: float
    min: float
    lower_quartile: float
    median: float
    upper_quartile: float
    max: float


@dataclass(frozen=True)
class PublishedStore:
    """One row of Table LRResults52Stores."""

    store: int
    rmse: float
    rmse_over_median: float
    r2: float
    adjusted_r2: float
    f: float


#: Table EDAofStore10.
PUBLISHED_DESCRIPTIVE = Descriptive(3237, 149.21, 112.76, 1.00, 45.00, 142.60, 221.00, 917.62)

_CATEGORIES = (192.23, 151.66, -57.30, 51.56, 55.42, -76.14, 130.65, -106.29)
_DAYS = (-3.64, -25.41, -29.90, -32.75, 21.15, 38.13)
_MONTHS = (-3.46, 1.57, 11.94, 7.88, -1.58, -13.21, -11.90, 1.96, -1.67, -3.48, 20.03)

#: Table LRstore10: name of the dummy → coefficient; baselines have none.
PUBLISHED_COEFFICIENTS: Mapping[str, float] = MappingProxyType(
    {
        "intercept": 113.40,
        **dict(zip(PERISHABLE_FAMILIES[1:], _CATEGORIES, strict=True)),
        **dict(zip(WEEKDAYS[1:], _DAYS, strict=True)),
        **dict(zip(MONTHS[1:], _MONTHS, strict=True)),
    }
)

#: Table LRResults52Stores, in the paper's order: by RMSE over median.
PUBLISHED_STORES = (
    PublishedStore(10, 46.5746, 0.3266, 0.8293, 0.8280, 624.1229),
    PublishedStore(14, 54.6872, 0.3275, 0.8809, 0.8800, 954.0434),
    PublishedStore(11, 162.8400, 0.3346, 0.8393, 0.8381, 678.7941),
    PublishedStore(13, 48.3584, 0.3838, 0.7714, 0.7696, 426.2959),
    PublishedStore(22, 46.6093, 0.4270, 0.8533, 0.8522, 739.5047),
    PublishedStore(9, 193.7826, 0.4394, 0.8586, 0.8576, 789.4428),
    PublishedStore(19, 62.2407, 0.4480, 0.8533, 0.8522, 752.1771),
    PublishedStore(23, 119.2109, 0.4610, 0.9138, 0.9131, 1377.9255),
    PublishedStore(50, 205.3945, 0.4646, 0.9213, 0.9207, 1521.6989),
    PublishedStore(15, 66.8268, 0.4673, 0.8880, 0.8871, 1023.4136),
    PublishedStore(5, 111.9503, 0.4999, 0.9361, 0.9356, 1903.2669),
    PublishedStore(46, 395.1271, 0.5131, 0.8486, 0.8474, 728.4465),
    PublishedStore(48, 328.5656, 0.5231, 0.8218, 0.8204, 599.5495),
    PublishedStore(16, 69.1041, 0.5618, 0.8413, 0.8400, 661.6522),
    PublishedStore(6, 260.9393, 0.5737, 0.9101, 0.9094, 1315.4281),
    PublishedStore(54, 66.2729, 0.5784, 0.8840, 0.8831, 942.8589),
    PublishedStore(45, 574.1935, 0.5933, 0.9208, 0.9201, 1510.4271),
    PublishedStore(32, 52.3259, 0.5946, 0.6270, 0.6240, 211.3298),
    PublishedStore(34, 110.4864, 0.5988, 0.8614, 0.8603, 797.2013),
    PublishedStore(2, 239.4270, 0.6028, 0.9177, 0.9171, 1449.6547),
    PublishedStore(17, 182.6757, 0.6089, 0.8344, 0.8331, 650.8533),
    PublishedStore(43, 122.8362, 0.6142, 0.7598, 0.7578, 379.5114),
    PublishedStore(26, 82.8409, 0.6322, 0.7878, 0.7861, 479.5208),
    PublishedStore(21, 135.5839, 0.6751, 0.8662, 0.8651, 836.7606),
    PublishedStore(40, 123.3867, 0.6754, 0.8763, 0.8754, 907.0674),
    PublishedStore(47, 560.4408, 0.6768, 0.9156, 0.9149, 1410.2051),
    PublishedStore(30, 79.6000, 0.6922, 0.7918, 0.7902, 489.9277),
    PublishedStore(4, 239.8729, 0.7276, 0.9111, 0.9104, 1331.6203),
    PublishedStore(27, 236.7949, 0.7430, 0.9220, 0.9214, 1536.3398),
    PublishedStore(28, 228.6058, 0.7545, 0.8131, 0.8117, 565.1187),
    PublishedStore(35, 89.0039, 0.7731, 0.5892, 0.5857, 169.2330),
    PublishedStore(3, 608.6074, 0.7767, 0.9446, 0.9442, 2215.7184),
    PublishedStore(7, 365.5852, 0.7767, 0.9541, 0.9537, 2701.3525),
    PublishedStore(33, 175.4642, 0.7890, 0.8170, 0.8155, 559.4922),
    PublishedStore(20, 252.0826, 0.7929, 0.6563, 0.6537, 248.2877),
    PublishedStore(49, 588.5328, 0.8108, 0.9457, 0.9452, 2262.1900),
    PublishedStore(41, 147.3007, 0.8168, 0.9380, 0.9375, 1966.8681),
    PublishedStore(24, 331.8992, 0.8950, 0.9184, 0.9177, 1462.4586),
    PublishedStore(29, 188.4952, 0.9032, 0.8116, 0.8101, 558.9625),
    PublishedStore(44, 863.0062, 0.9329, 0.9250, 0.9244, 1602.7195),
    PublishedStore(18, 198.6834, 0.9428, 0.8556, 0.8542, 609.6545),
    PublishedStore(8, 433.3750, 0.9547, 0.9228, 0.9222, 1553.0564),
    PublishedStore(42, 182.8367, 0.9655, 0.9451, 0.9447, 2237.9162),
    PublishedStore(51, 528.4183, 0.9893, 0.9019, 0.9011, 1195.0267),
    PublishedStore(36, 221.3055, 1.0327, 0.8054, 0.8039, 515.4907),
    PublishedStore(37, 231.4815, 1.1438, 0.9352, 0.9347, 1876.5226),
    PublishedStore(53, 277.5855, 1.1871, 0.8504, 0.8492, 734.1657),
    PublishedStore(12, 206.6159, 1.2744, 0.2945, 0.2891, 53.8586),
    PublishedStore(1, 263.5151, 1.2986, 0.8806, 0.8797, 959.1935),
    PublishedStore(38, 219.5359, 1.4162, 0.9022, 0.9014, 1198.6081),
    PublishedStore(25, 322.0701, 2.1535, 0.6835, 0.6806, 237.9330),
    PublishedStore(39, 1601.9278, 6.3781, 0.0986, 0.0916, 14.2130),
)
