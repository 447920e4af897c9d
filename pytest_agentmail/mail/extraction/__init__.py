"""What a person would take out of a mail: the text they see, the code, the link."""
