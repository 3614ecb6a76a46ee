"""Reading a file starts fast."""

import subprocess
import sys


def test_score_files_import_no_heavy_library_at_the_start():
    code = (
        "import sys, aftermax._scorefiles, aftermax._scorefiles.predict\n"
        "heavy = 'sklearn', 'scipy', 'numba', 'pyarrow', 'pandas', 'joblib'\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
