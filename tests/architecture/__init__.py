"""What holds for the repository as a whole: layers, public names, documentation, files."""
