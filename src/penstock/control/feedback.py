"""The feedback law that CTRL and SEaMLeSS share: by how much the queue may grow.

    u(k) = b0 e(k) + b1 e(k-1) - a u(k-1)         e = target - delay, in seconds

The queue is a sum of what was let in, 1/(z-1). With it the loop has the equation (z-1)(z+a) + b0 z
+ b1 = (z-pole)², so an error dies away as pole^k: Tu, Liu, Prabhakar and Yao, "Load shedding in
stream databases: a control-based approach", VLDB 2006.

What is asked for is not always what happens: nothing below 0 can be let in, nor more than arrives,
and a queue that is empty does not get shorter. The law therefore remembers what did happen.
Otherwise, after an hour without overload, it would believe that it had asked for an hour's worth of
load, and would not shed when it must (wind-up).
"""

from __future__ import annotations

from penstock.control.checks import finite

A, POLE = -0.8, 0.7


class Feedback:
    """u(k) from the error, in seconds of delay.

    Args:
        a: the weight of the last answer.
        pole: where the loop's two poles lie; nearer to 0 is faster and more nervous.

    >>> law = Feedback()
    >>> round(law.b0, 2), round(law.b1, 2)
    (0.4, -0.31)
    """

    def __init__(self, a: float = A, pole: float = POLE) -> None:
        finite("a", a)
        finite("pole", pole)
        self.a = a
        self.b0 = 1 - a - 2 * pole
        self.b1 = pole * pole + a
        self._error: float | None = None
        self._growth = 0.0

    def ask(self, error: float) -> float:
        """How many seconds of delay may be added."""
        before = error if self._error is None else self._error
        self._error = error
        return self.b0 * error + self.b1 * before - self.a * self._growth

    def got(self, growth: float, delay: float) -> None:
        """What will be added in fact, as far as is known.

        Args:
            growth: of the delay, in seconds.
            delay: as it is now, in seconds.
        """
        self._growth = max(growth, -delay)
