"""The Django project is a project of its own; `test_existing_suite.py` runs it as one."""

collect_ignore = ["existing_suite"]
