"""``python -m benchmarks``: run everything, print the tables, write them to results/bench."""

import sys
from pathlib import Path

from benchmarks import auto, choosing, dask, many, predict, sph
from benchmarks.measure import Result, shown, write

PARTS = {
    "sph": (sph.speed, sph.processes),
    "choosing": (choosing.speed, choosing.processes),
    "auto": (auto.speed, auto.processes),
    "predict": (predict.speed, predict.processes),
    "many": (many.speed,),
    "thousand": (many.thousand,),
    "largest": (many.largest,),
    "dask": (dask.speed,),
}


def main() -> None:
    for name in sys.argv[1:] or PARTS:
        results: list[Result] = []
        for measured in PARTS[name]:
            for result in measured():
                results.append(result)
                line = f"{result.what}: {shown(result.value)} {result.unit} of {result.baseline}"
                print(line, flush=True)
        print("\n" + write(results, Path("results/bench"), name))


if __name__ == "__main__":
    main()
