"""What every layer uses: validation, labels, folds, paired tests, threads, files, text."""
