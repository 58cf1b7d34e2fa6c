"""HiGHS, the solver of linear programs, set up once for a program and asked for many rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.errors import PenstockError, UsageError
from penstock.nodes.program import Program, Sum, Vector

if TYPE_CHECKING:
    import highspy

_DUAL, _PRIMAL = 1, 4


class Highs:
    """A program inside the solver; the next solution begins where the last one ended.

    Args:
        program: what is to be solved.
        scale: rows per second at each variable that count as one, so that numbers are near 1.
    """

    def __init__(self, program: Program, scale: Vector) -> None:
        library = _library()
        self.program = program
        self.scale = np.where(scale > 0, scale, 1.0)
        self._entry = np.array(program.entry, dtype=np.int32)
        self._first = np.flatnonzero(self._entry >= 0).astype(np.int32)
        self._infinite: float = library.kHighsInf
        self._optimal = library.HighsModelStatus.kOptimal
        self._highs: highspy.Highs = library.Highs()
        self._highs.setOptionValue("output_flag", False)
        # Small programs are solved faster as they are than after looking for what to leave out.
        self._highs.setOptionValue("presolve", "off")
        # Keeping nothing is feasible, so the first solution is found from there; later ones from
        # the last optimum, which stays one in its prices when only rates change.
        self._highs.setOptionValue("simplex_strategy", _PRIMAL)
        self._highs.passModel(self._model(library))

    def _model(self, library: Any) -> Any:  # noqa: ANN401 - the module and its program
        program, width = self.program, len(self.program.locations)
        rows: list[Sum] = [
            {variable: amount / most for variable, amount in those.items()}
            for those, most in zip(program.loads, program.capacity, strict=True)
        ]
        bounds = [1.0] * len(rows)
        for variable, those in program.supply.items():
            own = self.scale[variable]
            rows.append({variable: 1.0 / own, **{o: -gain / own for o, gain in those.items()}})
            bounds.append(0.0)
        index = np.array([variable for row in rows for variable in row], dtype=np.int32)
        value = np.array([amount for row in rows for amount in row.values()], dtype=float)
        model = library.HighsLp()
        model.num_col_, model.num_row_ = width, len(rows)
        model.sense_ = library.ObjSense.kMaximize
        model.col_cost_ = program.score * self.scale
        model.col_lower_, model.col_upper_ = np.zeros(width), np.full(width, self._infinite)
        model.row_lower_ = np.full(len(rows), -self._infinite)
        model.row_upper_ = np.array(bounds)
        matrix = model.a_matrix_
        matrix.format_ = library.MatrixFormat.kRowwise
        matrix.num_col_, matrix.num_row_ = width, len(rows)
        matrix.start_ = np.cumsum([0, *map(len, rows)]).astype(np.int32)
        matrix.index_ = index
        matrix.value_ = value * self.scale[index] if len(index) else value
        return model

    def solve(self, rates: Vector) -> tuple[Vector, Vector, Vector]:
        """What passes each location at best, and what more of a stream or a capacity would add.

        Args:
            rates: of the streams that enter, in rows per second.
        """
        most = rates[self._entry[self._first]] / self.scale[self._first]
        found = self._run(np.zeros(len(most)), most)
        worth = np.zeros(len(self.program.entering))
        reduced = np.maximum(np.array(found.col_dual)[self._first], 0) / self.scale[self._first]
        np.add.at(worth, self._entry[self._first], reduced)
        count = len(self.program.capacity)
        prices = np.abs(np.array(found.row_dual)[:count]) / self.program.capacity
        return self._clean(np.array(found.col_value) * self.scale, rates), worth, prices

    def within(self, rates: Vector) -> Vector:
        """The same, if nothing is dropped where rows enter, only behind splits.

        Args:
            rates: of the streams that enter, in rows per second.
        """
        streams = self._entry[self._first]
        most = rates[streams] / self.scale[self._first]
        whole = np.bincount(streams)[streams] == 1
        found = self._run(np.where(whole, most, 0.0), most)
        return self._clean(np.array(found.col_value) * self.scale, rates)

    def _run(self, least: Vector, most: Vector) -> highspy.HighsSolution:
        self._highs.changeColsBounds(len(self._first), self._first, least, most)
        self._highs.run()
        status = self._highs.getModelStatus()
        if status != self._optimal:
            raise PenstockError(f"the linear program has no optimum: HiGHS says {status}")
        self._highs.setOptionValue("simplex_strategy", _DUAL)
        return self._highs.getSolution()

    def _clean(self, flows: Vector, rates: Vector) -> Vector:
        """Without what the solver tolerates: nothing below 0, above its supply or a capacity."""
        program = self.program
        flows = np.maximum(flows, 0.0)
        for variable, stream in enumerate(program.entry):
            arrives = (
                rates[stream]
                if stream >= 0
                else sum(gain * flows[other] for other, gain in program.supply[variable].items())
            )
            flows[variable] = min(flows[variable], arrives)
        over = float(np.max(program.loaded(flows) / program.capacity, initial=0.0))
        cleaned: Vector = flows / max(1.0, over)
        return cleaned


def _library() -> Any:  # noqa: ANN401 - the module, which need not be there
    try:
        import highspy  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = "plans for many nodes need HiGHS: pip install penstock[nodes]"
        raise UsageError(message) from error
    return highspy
