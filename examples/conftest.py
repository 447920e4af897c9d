"""The Django project is a project of its own; `test_existing_suite.py` runs it as one."""

collect_ignore_glob = ["existing_suite/*"]
