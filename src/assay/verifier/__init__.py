"""The offline verifier: numbered steps, a trust policy, a report, and the protocol of the labs it calls."""
