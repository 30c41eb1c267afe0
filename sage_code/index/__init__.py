"""How does an index come about, and how is it kept?"""
