"""An app where one signs up, an agent that does, and the tests of the agent."""
