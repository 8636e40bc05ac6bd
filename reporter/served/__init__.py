"""The served model: what any stack's object comes down to, and what can fail of it, judged once.

Every stack says the same thing in its own words: these pods, in these roles, so many of each. A
stack translates its object into roles (`reporter.served.role`), and the judges here find what is
wrong with them; they know no stack. A stack gives the names of its reasons and the few words that
differ.

What does not fit stays with its stack: provisioning of nodes, groups that are scheduled together,
revisions and traffic, objects that are compared with what a controller should have made.
"""
