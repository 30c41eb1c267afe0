"""From names to answers: what a reference stands for, who calls whom, and what a change could break."""
