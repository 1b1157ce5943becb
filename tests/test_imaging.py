# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Images: against exact sums over the visibilities, against where sources are, and against WSClean,
which gets the same visibilities by way of a measurement set.
"""

import os
import re
import shutil
import unittest
import warnings
from dataclasses import replace

from places import SOURCE, enter_environment, fresh_folder, main, need_program, run_or_fail

enter_environment("conversion", "imaging")

import h5py
import numpy as np
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.wcs import WCS, FITSFixedWarning

from gnuradio.aperture.arrays import earth_rotation, geometry
from gnuradio.aperture.commands import fx
from gnuradio.aperture.commands import image as command
from gnuradio.aperture.conversion.convert import convert
from gnuradio.aperture.formats.uvh5.reader import VisibilityFile
from gnuradio.aperture.formats.uvh5.writer import Uvh5Layout
from gnuradio.aperture.imaging.direct_image import make_direct_image
from gnuradio.aperture.imaging.dirty_image import Field, find_peak, make_image, to_sky
from gnuradio.aperture.imaging.live_visibilities import VisibilityMatrices
from gnuradio.aperture.imaging.names import names_near
from gnuradio.aperture.imaging.visibilities import SkyVisibilities
from gnuradio.aperture.imaging.weighting import Weighting, parse_weighting
from gnuradio.aperture.testing.observations import array_of, run, words
from gnuradio.aperture.testing.tiers import ALL
from gnuradio.aperture.testing.uvh5_files import write_file
from gnuradio.aperture.tracking.directions import Direction, parse_direction
from gnuradio.aperture.tracking.phase_center import place_at

START = 1704067200
FREQUENCIES = 1.5e8 + 2e5 * np.arange(5)
PAGE = SOURCE / "docs/imaging.md"


def write_sources(path, array, sources, seconds, phase_center=None, autos=None, **more):
    """
    A UVH5 file of point sources, by the definitions of signal and product.

    sources: (Direction, flux) of each; seconds: of the integrations, since 1970; autos: the power
    of every input, which is otherwise the sum of the fluxes; more: of the layout.
    """
    layout = Uvh5Layout(array, FREQUENCIES, 2e5, phase_center=phase_center, **more)
    integrations = []
    for number, time in enumerate(seconds):
        sums, counted = integration_of(array, sources, time, number, autos)
        time = earth_rotation.julian_date(time)
        integrations.append(layout.integration(sums, time, 10, counted, 1e-4))
    write_file(path, layout, integrations)


def integration_of(array, sources, time, number=0, autos=None):
    """Products [channel][product], and how many of 10 spectra were counted of each product."""
    a, b = np.tril_indices(len(array.inputs))
    sums = np.zeros((len(FREQUENCIES), len(a)), complex)
    for source, flux in sources:
        place = place_of(source, time, array)
        delays = geometry.delays(array.input_positions(), place)
        voltages = np.exp(-2j * np.pi * np.multiply.outer(FREQUENCIES, delays))
        sums += flux * voltages[:, a] * voltages[:, b].conj()
    if autos is not None:
        sums[:, a == b] = autos
    # some of it is missing, and one product in whole
    counted = 10 - (np.arange(len(a)) + number) % 4
    counted[7] = 0
    return sums.astype(np.complex64), counted


def place_of(source, time, array):
    """Unit vector to a source."""
    if not source.moving:
        return geometry.direction(source.azimuth, source.elevation)
    return geometry.direction(
        *geometry.radec_to_azel(
            source.ra, source.dec, time, array.latitude, array.longitude, array.height
        )
    )


def exact_image(path, field):
    """[x][y] by a sum over all visibilities, weighted by nsamples."""
    array, l, m = array_of(), *field.cosines()
    l, m = l[:, np.newaxis], m[np.newaxis, :]
    n = np.sqrt(np.maximum(1 - l**2 - m**2, 0))
    with h5py.File(path, "r") as file:
        header, data = file["Header"], file["Data"]
        first, second = header["ant_1_array"][()], header["ant_2_array"][()]
        times = header["time_array"][()]
        values = data["visdata"][..., 0]
        weights = np.where(data["flags"][..., 0], 0, data["nsamples"][..., 0])
        names = [name.decode() for name in header["antenna_names"]]
    places = {antenna.name: np.array(antenna.position) for antenna in array.antennas}
    total, norm = np.zeros(np.broadcast(l, m).shape), 0
    for row in np.flatnonzero(first != second):
        seconds = float(earth_rotation.unix_seconds(times[row]))
        u, v, w = place_at(field.centre, seconds, array).to_uvw @ (
            places[names[second[row]]] - places[names[first[row]]]
        )
        waves = FREQUENCIES / geometry.SPEED_OF_LIGHT
        phases = np.multiply.outer(u * l + v * m + w * n, waves)
        total += (weights[row] * values[row] * np.exp(-2j * np.pi * phases)).real.sum(axis=-1)
        norm += weights[row].sum()
    return np.where(l**2 + m**2 < 1, total / norm, np.nan)


def fits_peak(path):
    """The highest pixel of a FITS image: its place by astropy's WCS, value, and beam in degrees."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FITSFixedWarning)
        with fits.open(path) as file:
            header, image = file[0].header, np.squeeze(file[0].data)
        wcs = WCS(header).celestial
    y, x = np.unravel_index(np.nanargmax(image), image.shape)
    return wcs.pixel_to_world(x, y).icrs, (x, y), image[y, x], header


class TestImages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = fresh_folder("imaging")
        cls.array = array_of(gains=False)
        cls.times = START + 600.0 * np.arange(3)
        zenith = geometry.azel_to_radec(0, 90, START + 600, 52.0, 5.0, 10.0)
        cls.zenith = Direction("zenith", ra=float(zenith[0]), dec=float(zenith[1]))
        cls.source = Direction("source", ra=float(zenith[0]) + 20.0, dec=40.0)
        cls.other = Direction("other", ra=float(zenith[0]) - 60.0, dec=70.0)
        cls.uvh5 = str(cls.folder / "a.uvh5")
        cls.sources = [(cls.source, 3.0), (cls.other, 1.0)]
        write_sources(cls.uvh5, cls.array, cls.sources, cls.times)

    def dirty(self, path, field, weighting=Weighting(), coherence=False, **choices):
        with VisibilityFile(path) as file:
            return make_image(SkyVisibilities(file, ["xx"], coherence, **choices), field, weighting)

    def test_exact_sums(self):
        """The gridder's accuracy is 1e-5 of what the image would be if all phases were 0."""
        for field in (Field(self.zenith, 64, 2.04 / 64), Field(self.source, 50, 0.005)):
            found = self.dirty(self.uvh5, field)
            np.testing.assert_allclose(found.image, exact_image(self.uvh5, field), atol=1e-4)
            self.assertAlmostEqual(found.psf[field.pixels // 2, field.pixels // 2], 1, 5)
        # 45 baselines, one of which is missing
        self.assertEqual(found.visibilities, 44 * len(self.times) * len(FREQUENCIES))

    def test_live_images(self):
        """The display's exact sums give the image of the same integration in a file."""
        path = str(self.folder / "live.uvh5")
        array = array_of("xy", gains=False)
        write_sources(path, array, self.sources, self.times[1:2], autos=9.0)
        values, counted = integration_of(array, self.sources, self.times[1], autos=9.0)
        for field in (Field(self.zenith, 96, 2.04 / 96), Field(self.source, 50, 0.005)):
            to_uvw = place_at(field.centre, self.times[1], array).to_uvw
            live = VisibilityMatrices(array, len(FREQUENCIES)).reduce(
                values, counted, FREQUENCIES, to_uvw, len(FREQUENCIES)
            )
            with VisibilityFile(path) as file:
                visibilities = SkyVisibilities(file, ["xx", "yy"], True)
                for text in ("natural", "uniform", "briggs=0.5"):
                    expected = make_image(visibilities, field, parse_weighting(text))
                    found, peak = make_direct_image(live, field, parse_weighting(text))
                    # the gridder's accuracy, of all visibilities in phase
                    np.testing.assert_allclose(found.image, expected.image, atol=1e-4)
                    if field.centre is self.zenith:
                        continue  # the pixels are wider than the beam
                    value, l, m = find_peak(expected.image, field)
                    self.assertLess(np.hypot(peak.l - l, peak.m - m), field.cell)
                    self.assertGreaterEqual(peak.value, value - 1e-4)

    def test_phased_files(self):
        """Visibilities that were phased to one place give the same image of another."""
        phased = str(self.folder / "phased.uvh5")
        write_sources(phased, self.array, self.sources, self.times, phase_center=self.other)
        field = Field(self.source, 64, 0.004)
        one, two = (self.dirty(path, field).image for path in (self.uvh5, phased))
        np.testing.assert_allclose(one, two, atol=1e-4)
        with VisibilityFile(phased) as file:
            centre = command.phase_centre_of(file)
        self.assertEqual(centre.name, "other")
        self.assertAlmostEqual(centre.ra, self.other.ra % 360, 9)

    def test_places(self):
        """Sources stand where they are: by astropy's WCS, and by azimuth and elevation."""
        for name, arguments in (
            ("sky", []),
            ("field", ["--centre", f"{self.source.ra - 3}, 41.5", "--width", "20"]),
        ):
            path = self.folder / f"{name}.fits"
            for weight in ("natural", "uniform", "briggs=-0.5"):
                code, said, errors = run(
                    command, self.uvh5, "-o", path, "--weight", weight, *arguments
                )
                self.assertEqual((code, errors), (0, ""))
                place, _, value, header = fits_peak(path)
                off = place.separation(SkyCoord(self.source.ra, self.source.dec, unit="deg")).deg
                # within a tenth of the beam and half a pixel
                self.assertLess(off, 0.1 * header["BMIN"] + 0.71 * header["CDELT2"], name)
                self.assertGreater(value, 0.75 * 0.9)  # 3 of 4 keep their coherence
                self.assertEqual(header["RADESYS"], "ICRS")
            azimuth, elevation = map(
                float, re.search(r"azimuth ([\d.]+)°, elevation ([\d.]+)°", said).groups()
            )
            east, north, up = place_of(self.source, START + 600, self.array)
            self.assertAlmostEqual(azimuth, np.degrees(np.arctan2(east, north)) % 360, delta=0.15)
            self.assertAlmostEqual(elevation, np.degrees(np.arcsin(up)), delta=0.15)

    def test_averages(self):
        """ducc0 finds a source in the same place in averages of several lengths, whose rows are not
        a rectangle."""
        import ducc0

        # Cas A, from the phase centre
        ra, dec, ra_0, dec_0 = map(np.radians, (350.85, 58.815, 352.0, 59.3))
        place = (
            np.cos(dec) * np.sin(ra - ra_0),
            np.sin(dec) * np.cos(dec_0) - np.cos(dec) * np.sin(dec_0) * np.cos(ra - ra_0),
        )
        path = self.folder / "off.uvh5"
        options = "--input sim:y8 --duration 0.5 --channels 64 --integration 0.25 --device cpu"
        code, _, errors = run(
            fx,
            *words(options),
            *("--track", "352.0, 59.3", "-o", path),
            *("--baseline-averaging", "1e-5,radius=1,integration=0.03125"),
        )
        self.assertEqual(code, 0, errors)
        for name in (path, self.folder / "off-averaged.uvh5"):
            with h5py.File(name) as file:
                header, data = file["Header"], file["Data"]
                cross = header["ant_1_array"][:] != header["ant_2_array"][:]
                weights = data["nsamples"][:][cross][..., 0]
                weights *= header["integration_time"][:][cross][:, np.newaxis]
                cell = np.radians(0.3 / 60)
                image = ducc0.wgridder.vis2dirty(
                    uvw=header["uvw_array"][:][cross],
                    freq=header["freq_array"][:],
                    vis=np.ascontiguousarray(data["visdata"][:][cross][..., 0]),
                    wgt=np.ascontiguousarray(weights, np.float32),
                    npix_x=512,
                    npix_y=512,
                    pixsize_x=cell,
                    pixsize_y=cell,
                    epsilon=1e-4,
                    do_wgridding=True,
                    flip_v=True,
                    divide_by_n=False,
                )
            x, y = np.unravel_index(np.argmax(image), image.shape)
            # the first axis grows towards the west
            np.testing.assert_allclose(
                [(256 - x) * cell, (y - 256) * cell], place, rtol=0, atol=0.6 * cell
            )

    def test_projection(self):
        """to_sky() is the SIN projection of FITS."""
        wcs = WCS(naxis=2)
        wcs.wcs.ctype, wcs.wcs.crval = ["RA---SIN", "DEC--SIN"], [350.85, -58.8]
        wcs.wcs.crpix, wcs.wcs.cdelt = [1, 1], [-np.degrees(0.01), np.degrees(0.01)]
        x, y = np.meshgrid(np.arange(-60, 61, 13), np.arange(-70, 71, 17))
        ra, dec = to_sky(-0.01 * x, 0.01 * y, 350.85, -58.8)
        expected = wcs.wcs_pix2world(x.ravel(), y.ravel(), 0)
        np.testing.assert_allclose(dec.ravel(), expected[1], atol=1e-9)
        np.testing.assert_allclose((ra.ravel() - expected[0] + 180) % 360 - 180, 0, atol=1e-9)

    def test_choices(self):
        """Polarisations, coherence, channels and integrations that are chosen."""
        both = str(self.folder / "both.uvh5")
        array = array_of("xy", gains=False)
        write_sources(both, array, [(self.source, 3.0)], self.times, autos=9.0)
        field = Field(self.source, 32, 0.01)
        with VisibilityFile(both) as file:
            self.assertEqual(command.choose_hands(file, None), (["xx", "yy"], "I"))
            self.assertEqual(command.choose_hands(file, "yy"), (["yy"], "yy"))
            with self.assertRaisesRegex(ValueError, "the file has xx, yy"):
                command.choose_hands(file, "rr")
            for coherence, expected in ((False, 3), (True, 3 / 9)):
                some = SkyVisibilities(file, ["xx", "yy"], coherence, slice(1, 3), slice(2, None))
                image = make_image(some, field, Weighting())
                self.assertAlmostEqual(image.image[16, 16], expected, 4)
                # an integration of 45 baselines
                self.assertLessEqual(image.visibilities, 90)
                self.assertEqual(list(some.times.round()), [START + 1200])

    def test_units(self):
        """
        Visibilities in Jy and in kelvin are imaged in these, and the FITS image says so; others in
        correlation coefficients. A measurement set in Jy is read by WSClean.
        """
        asked = ["--centre", f"{self.source.ra}, {self.source.dec}", "--width", "40"]
        for unit, keywords, arguments, expected, bunit in (
            ("Jy", None, [], 3, "Jy/beam"),
            ("Jy", None, ["--as-is"], 3, "Jy/beam"),
            ("Jy", None, ["--coherence"], 3 / 9, ""),
            ("uncalib", {"VISUNITS": "K"}, [], 3, "K"),
            ("uncalib", None, ["--as-is"], 3, "uncalib"),
            ("uncalib", None, [], 3 / 9, ""),
        ):
            path, made = self.folder / "units.uvh5", self.folder / "units.fits"
            write_sources(
                str(path),
                self.array,
                [(self.source, 3.0)],
                self.times,
                autos=9.0,
                unit=unit,
                keywords=keywords,
            )
            code, out, errors = run(
                command, path, "-o", made, "-o", self.folder / "units.png", *asked, *arguments
            )
            self.assertEqual((code, errors), (0, ""))
            _, _, value, header = fits_peak(made)
            self.assertEqual(header["BUNIT"], bunit)
            self.assertAlmostEqual(value, expected, delta=0.01 * expected)
            self.assertEqual(f" {bunit} at" in out, bunit in ("Jy/beam", "K"))
            if bunit == "Jy/beam" and shutil.which("wsclean"):
                summary, notes = convert(
                    path,
                    self.folder / "units.ms",
                    lambda *_: (self.source.ra, self.source.dec),
                    "source",
                )
                self.assertEqual(notes, [])
                run_or_fail(
                    self,
                    "wsclean",
                    *words(
                        "-quiet -name units -size 64 64 -scale 0.5deg -pol XX -weight natural "
                        "-niter 0 units.ms"
                    ),
                    cwd=self.folder,
                    env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                )
                _, _, value, header = fits_peak(self.folder / "units-image.fits")
                self.assertAlmostEqual(value, 3, delta=0.03)

    def test_pictures(self):
        """The picture of a field and of the sky; what is named in it."""
        png = self.folder / "sky.png"
        for arguments in ([], ["--centre", "zenith", "--width", "30"]):
            code, _, errors = run(command, self.uvh5, "-o", png, *arguments)
            self.assertEqual((code, errors), (0, ""))
            self.assertGreater(png.stat().st_size, 20000)
        with VisibilityFile(self.uvh5) as file:
            visibilities = SkyVisibilities(file, ["xx"], True)
            field = Field(self.zenith, 64, 2.04 / 64)
            names = {
                name: (l, m)
                for name, l, m in names_near(
                    field,
                    visibilities.middle,
                    visibilities.array,
                    place_at(self.zenith, START + 600, self.array).to_uvw,
                    True,
                )
            }
        self.assertIn("Cas A", names)
        ra, dec = to_sky(*names["Cas A"], self.zenith.ra, self.zenith.dec)
        cas = parse_direction("Cas A")
        # aberration is up to 20 arc seconds, seen from 30 degrees off
        self.assertLess(np.hypot((ra - cas.ra) * np.cos(np.radians(dec)), dec - cas.dec), 0.01)

    def test_refuses(self):
        lone = str(self.folder / "lone.uvh5")
        place = replace(
            self.array,
            antennas=[
                replace(antenna, position=(0.0, 0.0, 0.0)) for antenna in self.array.antennas
            ],
        )
        write_sources(lone, place, [(self.source, 1.0)], self.times[:1])
        flagged = str(self.folder / "flagged.uvh5")
        shutil.copy(self.uvh5, flagged)
        with h5py.File(flagged, "r+") as file:
            file["Data/visdata"][...] = np.nan
            file["Data/flags"][...] = True
        for arguments, text in (
            *(
                (
                    [flagged, "-o", "a.png", "--weight", weight],
                    "all visibilities between antennas are flagged",
                )
                for weight in ("natural", "uniform", "briggs=0")
            ),
            ([self.uvh5, "-o", "a.jpg"], "a.jpg: its ending is to be one of .png"),
            ([self.uvh5, "-o", self.uvh5], "its ending is to be one of"),
            (["none.uvh5", "-o", "a.png"], "none.uvh5: no such file"),
            ([self.uvh5, "-o", "/nowhere/a.png"], "there is no folder for this file"),
            ([self.uvh5, "-o", "a.png", "--weight", "best"], "'best' is not allowed: natural"),
            ([self.uvh5, "-o", "a.png", "--weight", "briggs=3"], "is not allowed"),
            (
                [self.uvh5, "-o", "a.png", "--channels", "9:"],
                "--channels 9:: the file has 5 channels, 0 to 4",
            ),
            ([self.uvh5, "-o", "a.png", "--channels", "0:5"], "--channels 0:5: the file has 5"),
            ([self.uvh5, "-o", "a.png", "--channels", "3:2"], "3:2: the first is behind"),
            (
                [self.uvh5, "-o", "a.png", "--integrations", "100:200"],
                "--integrations 100:200: the file has 3 integrations, 0 to 2",
            ),
            ([self.uvh5, "-o", "a.png", "--polarization", "yy"], "the file has xx"),
            ([lone, "-o", "a.png"], "the antennas are all at one place"),
        ):
            code, _, errors = run(command, *arguments)
            self.assertNotEqual(code, 0)
            self.assertIn(text, errors)


class TestWsclean(unittest.TestCase):
    def test_walk_through(self):
        """The commands of docs/imaging.md, one after the other; WSClean finds the source in the
        same pixel, with the same beam, before and after CLEAN."""
        need_program(self, "wsclean")
        folder = fresh_folder("imaging-walk")
        text = re.search(
            r"## From the correlator to a CLEAN image\n(.*?)\n## ", PAGE.read_text(), re.DOTALL
        )[1]
        commands = re.findall(r"^    ((?:.*\\\n)*.+)$", text, re.MULTILINE)
        self.assertEqual(
            [each.split()[1 if each.startswith("tools") else 0] for each in commands],
            ["aperture_fx", "aperture_image", "aperture_convert", "wsclean"],
        )
        for each in commands:
            run_or_fail(
                self,
                "sh",
                "-c",
                each.replace("tools/run", str(SOURCE / "tools/run")),
                cwd=folder,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )
        cas = parse_direction("Cas A")
        truth = SkyCoord(cas.ra, cas.dec, unit="deg")
        own, pixel, value, header = fits_peak(folder / "y8.fits")
        self.assertLess(own.separation(truth).deg, 0.1 * header["BMIN"])
        dirty, same, other_value, other = fits_peak(folder / "y8-dirty.fits")
        self.assertEqual(pixel, same)
        self.assertLess(dirty.separation(truth).deg, 0.1 * header["BMIN"])
        for key in ("CDELT1", "CDELT2"):
            self.assertAlmostEqual(other[key] / header[key], 1, 5)
        one, two = (
            np.squeeze(fits.getdata(folder / name)) for name in ("y8.fits", "y8-dirty.fits")
        )
        # the accuracy that WSClean asks of its gridder is 1e-4
        np.testing.assert_allclose(one / value, two / other_value, rtol=0, atol=3e-4)
        # BMAJ is another: WSClean's fit goes on into the sidelobes that touch the main lobe
        fitted = fits.getheader(folder / "y8-image.fits")
        self.assertAlmostEqual(header["BMIN"] / fitted["BMIN"], 1, delta=0.15)
        self.assertAlmostEqual(header["BPA"], fitted["BPA"], delta=5)
        clean, _, _, _ = fits_peak(folder / "y8-image.fits")
        self.assertLess(clean.separation(truth).deg, 0.1 * header["BMIN"])

        # against exact sums; which of a few visibilities share a cell is a convention
        weights = (("natural", 1e-4), ("uniform", 0.1), ("briggs 0.5", 0.05))
        for weight, limit in weights if ALL else weights[2:]:
            run_or_fail(
                self,
                "wsclean",
                *words("-quiet -name exact -size 150 150 -scale 40asec -pol XX -direct-ft -weight"),
                *weight.split(),
                *words("-niter 0 y8.ms"),
                cwd=folder,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )
            code, _, errors = run(
                command,
                folder / "y8.uvh5",
                "-o",
                folder / "exact.fits",
                "--centre",
                "Cas A",
                "--width",
                f"{150 * 40 / 3600 * 1.000035:.7f}",
                *words(f"--pixels 150 --as-is --weight {weight.replace(' ', '=')}"),
            )
            self.assertEqual((code, errors), (0, ""))
            one, two = (
                np.squeeze(fits.getdata(folder / name))
                for name in ("exact.fits", "exact-image.fits")
            )
            np.testing.assert_allclose(one / one.max(), two / two.max(), atol=limit)


if __name__ == "__main__":
    main()
