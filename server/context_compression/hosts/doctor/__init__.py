"""The doctor: checks whether our server works in a host, and names a remedy for each problem.

It changes nothing: `setup` changes the configuration of a host.

    doctor.py     all findings of the doctor about our server in one host, or in several at the same
                  time
    checks.py     checks that do not depend on the host: variables, the store, the search; and its
                  version
    commands.py   which store a host's command names, and what people see of it
    trial.py      starts our server as a host would start it
"""
