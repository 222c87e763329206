"""The doctor: checks whether our server works in a host, and names a remedy for each problem.

It changes nothing: `setup` changes the configuration of a host.

    doctor.py         all findings about one host, or about several
    checks.py         findings about the environment, the store, the search and the key
    commands.py       which store a host's command names, and what people see of it
    host_version.py   a finding about the version of a host
    trial.py          starts our server as a host would start it
    side_by_side.py   checks at the same time
"""
