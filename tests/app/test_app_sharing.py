"""Users of one table share its results; fits take turns, and who waits is told."""

from __future__ import annotations

import threading
import time

from unmet.app.cache import SharedFits

SOON = 10.0


def together(*jobs):
    """Run jobs in threads of their own and wait for all; give what they returned or raised."""
    found = [None] * len(jobs)

    def run(place, job):
        try:
            found[place] = job()
        except Exception as error:
            found[place] = error

    threads = [threading.Thread(target=run, args=each) for each in enumerate(jobs)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(SOON)
        assert not each.is_alive()
    return found


def test_twenty_users_of_one_table_make_one_fit():
    fits, made = SharedFits(), []

    def make():
        time.sleep(0.05)
        made.append(1)
        return object()

    found = together(*[lambda: fits.get("table", make)] * 20)
    assert len(made) == 1
    assert len(set(map(id, found))) == 1
    assert fits.get("other", make) is not found[0]


def test_fits_of_different_tables_take_turns_in_order():
    fits, running, most, order = SharedFits(most_fits=2), [], [], []
    told, lock = {}, threading.Lock()

    def user(number):
        def make():
            with lock:
                running.append(number)
                most.append(len(running))
                order.append(number)
            time.sleep(0.4)
            with lock:
                running.remove(number)
            return number

        def tell(before):
            told.setdefault(number, []).append(before)

        def ask():
            time.sleep(0.05 * number)  # one after another, so that the order is known
            return fits.get(str(number), make, tell)

        return ask

    assert together(*map(user, range(6))) == list(range(6))
    assert max(most) == 2
    assert order == sorted(order)
    assert not {0, 1} & told.keys()
    for number in (2, 3, 4, 5):
        assert told[number] == sorted(told[number], reverse=True)  # ever fewer are before
        assert told[number][0] <= number


def test_only_so_many_are_kept():
    fits, made = SharedFits(most_kept=2), []

    def get(key):
        return fits.get(key, lambda: made.append(key) or key)

    for key in ("a", "b", "a", "c", "a", "b"):
        assert get(key) == key
    assert made == ["a", "b", "c", "b"]  # b was not asked for the longest when c came


def test_an_error_reaches_who_made_it_and_others_try_themselves():
    fits, tries = SharedFits(), []

    def make():
        tries.append(1)
        time.sleep(0.05)
        if len(tries) == 1:
            raise ValueError("no such column")
        return "fit"

    found = together(*[lambda: fits.get("table", make)] * 3)
    assert sorted(map(str, found)) == ["fit", "fit", "no such column"]
    assert len(tries) == 2
    assert fits.get("table", make) == "fit"
