"""What did an agent look at and change in a session? Read from the transcripts that agents leave behind."""
