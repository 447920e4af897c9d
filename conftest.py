"""What every test of the project starts from."""

pytest_plugins = ["pytester"]
