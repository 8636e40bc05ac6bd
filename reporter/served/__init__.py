"""The served model: the common form of every stack's objects, with one set of judges for it.

Every stack describes the same thing in its own terms: pods, in roles, with a number of replicas
each. A stack translates its object into roles (`reporter.served.role`), and the judges here find
their faults without knowing any stack. A stack supplies the few words that differ.

Whatever does not fit this form stays with its stack: provisioning of nodes, gang scheduling,
revisions and traffic, comparing objects with those that a controller should have made.
"""
