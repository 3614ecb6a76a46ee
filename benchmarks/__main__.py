"""``python -m benchmarks``: run everything, print the table, write it to results/bench."""

from pathlib import Path

from benchmarks import sph
from benchmarks.measure import Result, write


def main() -> None:
    results: list[Result] = []
    for measured in (sph.speed, sph.processes):
        for result in measured():
            results.append(result)
            print(f"{result.what}: {result.value:.2f} {result.unit} of {result.baseline} {result.met}", flush=True)
    print("\n" + write(results, Path("results/bench"), "sph"))


if __name__ == "__main__":
    main()
