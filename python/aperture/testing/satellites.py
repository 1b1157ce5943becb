#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Elements of satellites (TLE) that are made up, for tests."""


def _with_checksum(line):
    return line + str(sum(int(sign) if sign.isdigit() else sign == "-" for sign in line) % 10)


def elements(number, epoch, inclination, node, eccentricity, perigee, anomaly, revolutions):
    """
    Two lines of elements.

    Parameters
    ----------
    number : int
        Of the catalogue.
    epoch : float
        Year (two digits) and day of the year: 26300.5 is noon of day 300 of 2026.
    inclination, node, perigee, anomaly : float
        Degrees.
    eccentricity, revolutions : float
        The latter a day.
    """
    return "\n".join(
        map(
            _with_checksum,
            (
                f"1 {number:05d}U 98067A   {epoch:14.8f}  .00000000  00000-0  10000-4 0  999",
                f"2 {number:05d} {inclination:8.4f} {node:8.4f} {round(eccentricity * 1e7):07d} "
                f"{perigee:8.4f} {anomaly:8.4f} {revolutions:11.8f}    1",
            ),
        )
    )


#: orbits like those of a space station, of GPS, geostationary, Molniya, and of a weather satellite
ORBITS = {
    "station": elements(25544, 26300.5, 51.64, 100.0, 0.0006703, 130.0, 325.0, 15.5),
    "navigation": elements(28874, 26300.25, 55.0, 10.0, 0.005, 30.0, 40.0, 2.00563),
    "geostationary": elements(40000, 26300.0, 0.05, 80.0, 0.0002, 10.0, 20.0, 1.00273),
    "molniya": elements(40001, 26300.0, 63.4, 200.0, 0.72, 270.0, 10.0, 2.006),
    "weather": elements(33591, 26299.5, 99.1, 320.0, 0.0013, 70.0, 20.0, 14.12),
}
EPOCH = 1793102400  # 2026-10-27T12:00:00Z, that of the first one
