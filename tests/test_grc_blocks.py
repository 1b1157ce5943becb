# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Every GRC block of ours, with its default values and with others: what GRC makes of it is a
block with the same ports, its callbacks can be called, and GRC and the block agree about
which values are allowed.
"""

import os
import re
import runpy
import sys
import time
import unittest

import numpy as np
import pmt
import yaml
from gnuradio import aperture, gr
from gnuradio.grc.core.platform import Platform
from PyQt5 import Qt

from gnuradio.aperture.parameters.description import parameters_of
from gnuradio.aperture.qa_defaults import came, chains
from gnuradio.aperture.testing.power_files import write_sigproc
from places import PATIENCE, SOURCE, fresh_folder, main, run_script, working_in

sys.path.insert(0, str(SOURCE / "tools"))

import grc_files

# windows of displays need no screen here
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

#: parameters that have no default that could work
NEEDED = {}

#: blocks without an overlay, whose files are written by hand
BY_HAND = set()

#: parameters for which GRC and the constructor differ in the default, (block, parameter)
OTHER_DEFAULTS = {
    # in GRC nothing counts the passes and nobody else says the rate: a source that goes on
    ("aperture_replay", "repeats"),
    ("aperture_replay", "rate"),
    # there is no text field without a text
    ("aperture_replay", "data"),
    ("aperture_dada_source", "filename"),
    ("aperture_power_source", "filenames"),
    # GRC says of what size the items are
    ("aperture_power_source", "beams"),
    ("aperture_power_source", "channels"),
    # real samples are chosen with one click: GRC gives them a band that can be had
    ("aperture_synthesizer", "input_rate"),
    ("aperture_synthesizer", "sample_rate"),
    ("aperture_synthesizer", "frequency"),
    # GRC says one, as there is nothing else that would let it start
    ("aperture_packet_source", "addresses"),
}
#: in GRC the blocks for pulses start with the powers that GRC's blocks before them give
OTHER_DEFAULTS |= {
    (f"aperture_{block}", parameter)
    for block in ("power_normalizer", "dedisperser", "pulse_search", "candidate_sink")
    for parameter in (
        "center_frequency",
        "bandwidth",
        "sample_time",
        "dms",
        "times_per_item",
        "window",
        "baseline",
        "pictures",
        "seconds",
    )
}
#: these blocks follow each other
SEARCH = (
    "array_source",
    "f_engine",
    "beam_power",
    "power_normalizer",
    "dedisperser",
    "pulse_search",
)


def cases(table):
    """
    {block: [{parameter: value}]} of a table that has a paragraph `block: case | case` for each
    block; a case is `parameter=value; parameter=value`.
    """
    found = {}
    for block, values in re.findall(r"^ {4}(\w+):(.*(?:\n {8}.*)*)", table, re.MULTILINE):
        found[f"aperture_{block}"] = [
            dict(pair.split("=", 1) for pair in " ".join(case.split()).split("; "))
            for case in values.split(" |")
        ]
    return found


#: block -> values of parameters that are refused
REFUSED = cases(
    """
    pointing: channels=0 | inputs=0 | vlen=0 | vlen=268435456 | phase_error=0 | phase_error=91 |
        lead=-1 | bandwidth=-1 | center_frequency=1e9 | center_frequency=-1; bandwidth=1e6 |
        samples_per_item=0 | channels=2**24 + 1 | beams=[] | beams='zenith' | lead=float('inf') |
        lead=3601 | calibration=[1] | center_frequency=1e9; bandwidth=float('inf')
    delay_tracker: channels=0 | inputs=0 | vlen=0 | vlen=268435456 | phase_error=0 |
        phase_error=91 | lead=-1 | lead=3601 | center_frequency=-1 | center_frequency=float('inf') |
        direction= | samples_per_item=0 | channels=2**24 + 1 | status_period=-1 |
        status_period=float('nan')
    filterbank_sink: channels=0 | rows=0 | channels=536870912 | machine_id=-1 |
        level_integrations=1 | level_integrations=1048577 | machine_id=2**31 | telescope=-1 |
        telescope=float('nan') | telescope='GBT' | beams=[] | beams=1 | filename=
    psrfits_search_sink: channels=0 | rows=0 | channels=536870912 | filename= | beams=[] |
        row_samples=-1 | channels=2**20; row_samples=1025 | channels=1023; nbits=4
    folder: channels=0 | beams=0 | products=5 | bins=1 | bins=65537 | channels=2**22 | period=0 |
        subintegration=0 | latency=11
    psrfits_sink: channels=0 | rows=0 | bins=1 | channels=2**23 | dm=-1 | period=0 | filename= |
        beams=[]
    heimdall_source: channels=0 | channels=33 | frequency=-1 | gain=101 | samples=-1 |
        control_port=0 | silence=0
    rtl_tcp_source: rate=500000 | rate=3.3e6 | frequency=0 | frequency=2**32 | gain=101 |
        samples=-1 | silence=0 | correction=1001
    power_source: samples=-1
    spead_source: inputs=3 | spectra_per_frame=100 | channels=10; channels_per_heap=4 | window=0 |
        align=0 | restart=0 | total_channels=5 | kind=samples; samples_per_heap=4095 | taps=-1 |
        packet_size=9 | sample_rate=0 | sync_time=-1 | most_gap=-1 | spectra_per_frame=2**20
    spead_sink: inputs=3 | first_input=2 | sent_inputs=3 | packet_size=1e9 |
        kind=visibilities; polarizations=3; inputs=3 | rate_factor=-1 |
        channels=10; channels_per_heap=4 | ttl=256 | kind=samples; samples_per_heap=0
    pfb_channelizer: channels=7 | channels=2 | channels=65538 | inputs=0 | inputs_per_port=0 |
        inputs=3; inputs_per_port=2 | taps=0 | taps=65 | window=kaiser; beta=-1 |
        window=kaiser; beta=101 | prototype=[1.0] * 5 | output_type=sc8 | device=gpu |
        device=cuda:x | channels=65536; inputs=4096; inputs_per_port=4096 |
        prototype=[1.0] * 8192; input_type=f32 | inputs=1001 | gain=float('nan') |
        gain=float('inf') | gains=[float('nan')] * 1024 | prototype=[float('nan')] * 8192 |
        gain=1e39
    upchanneliser: channels=0 | fine=1 | fine=4097 | inputs=0 | inputs=3; inputs_per_port=2 |
        taps=65 | fine=16; oversampling=32/27 | oversampling=27/32 | prototype=[1.0] * 5 |
        output_type=sc8 | prototype=[float('nan')] * 128 | coarse_taps=65 | inputs=1001 |
        coarse_prototype=[1.0] * 9 | coarse_taps=0; coarse_prototype=[1.0] * 8 | gain=1e39 |
        window=kaiser; beta=101 | coarse_window=kaiser; coarse_beta=-1 | device=gpu |
        fine=4096; oversampling=17 | channels=65536; fine=4096; taps=64
    zoom: decimation=1 | decimation=4097 | inputs=3; inputs_per_port=2 | passband=0.96 |
        passband=0 | output_type=sc8 | input_type=s12; decimation=3 | gain=float('inf') |
        frequency=2e12 | inputs=1001 | device=gpu
    f_engine: channels=7 | inputs=3; inputs_per_port=2 | taps=65 | prototype=[1.0] * 5 |
        prototype=[1.0] * 8192; input_type=s12 | output_type=sc8 | spectra_per_frame=0 |
        first_channel=1024 | first_channel=1000; selected_channels=25 | align=-1 |
        spectra_per_frame=131072 | output_type=sc8; spectra_per_frame=524288 | device=gpu |
        inputs=1001 | gain=float('nan') | gain=float('inf') | gains=[float('nan')] * 1024 |
        prototype=[float('nan')] * 8192 | gain=1e39 | align=float('inf') | spectra_per_slice=100 |
        spectra_per_slice=32 | spectra_per_slice=64; bad_channels=[-1]
    beamformer: channels=0 | inputs=0 | beams=0 | beams=4097 | spectra_per_frame=0 |
        spectra_per_frame=524288 | beams=4096; spectra_per_frame=64 | weights=[1] * 5 |
        gains=[1] * 3 | masks=[1] * 3 | device=gpu | weights=[1, float('nan')] |
        gains=[float('inf')] | masks=[1, 2]
    beam_power: spectra_per_slice=100 | spectra_per_slice=-1 | beams=0 | beams=4097 |
        incoherent_beams=-1 | spectra=100 | products=I | products=I; beams=2; incoherent_beams=2 |
        summed_channels=3 | weights=[1] * 5 | masks=[1] * 3 | spectra_per_frame=524288 |
        device=gpu | weights=[1, float('nan')] | gains=[float('inf')] | masks=[1, 2]
    power_detector: spectra_per_slice=100 | spectra_per_slice=-1 | channels=0 | beams=0 |
        spectra_per_frame=0 | spectra=0 | spectra=100 | products=IQUV | summed_channels=3 |
        spectra_per_frame=262144 | device=gpu
    power_normalizer: channels=0 | beams=0 | sample_time=0 | window=0.1 | segments=3 | segments=65 |
        window=1e9 | type=s8; steps=0 | cell_threshold=-1 | channel_threshold=float('nan') |
        spectrum_threshold=float('inf') | bad_channels=[1024] | bad_channels=[-1] | beams=60000 |
        device=gpu
    synthesizer: channels=0 | channels=7 | beams=0 | total_channels=512 | first_channel=1 |
        taps=65 | oversampling=27/32 | oversampling=5/3 | synthesis_taps=9 | prototype=[1.0] * 5 |
        window=kaiser; beta=-1 | output_type=f32; input_rate=0 | device=gpu |
        output_type=f32; passband=1 | spectra_per_frame=524288 |
        output_type=f32; input_rate=1e6; sample_rate=3e6; frequency=0 |
        output_type=f32; input_rate=1e6; sample_rate=1e6; frequency=1e6
    pulse_search: beams=0 | channels=0 | bandwidth=0 | center_frequency=1e6 | sample_time=0 |
        dms=[] | dms=[-1] | decimations=[1, 1] | decimations=[3] | decimations=[8192] |
        times_per_item=0 | dms=[0] * 1000; times_per_item=1048576 | threshold=0 | baseline=0 |
        widest=0 | widest=4097 | growth=1.03 | growth=2.1 | min_dm=-1 | most_beams=-1 |
        positions=[1] | neighbors=-1 | link_time=-1 | link_trials=0 | link_widths=0 | margin=-1 |
        most_cells=0 | device=gpu
    candidate_sink: filename=x.txt | beams=0 | channels=0 | bandwidth=0 | center_frequency=1e6 |
        sample_time=0 | pictures=-1 | seconds=0 | seconds=1e5; sample_time=1e-3 | rows_per_file=0 |
        beams=2**20
    flagger: channels=0 | inputs=0 | spectra_per_frame=0 | device=gpu | spectra_per_slice=100 |
        spectra_per_slice=32 | spectra_per_slice=-1 | kurtosis_false_alarms=1 | time_sigma=-1 |
        bad_channels=[1024] | most_power=1; least_power=2 | grown_slices=32 | grown_channels=-1 |
        spectra_per_frame=131072 | channels=1; spectra_per_frame=65537
    dedisperser: channels=0 | beams=0 | bandwidth=0 | center_frequency=4e5 | sample_time=0 |
        dms=[] | dms=[-1] | decimations=[1] | decimations=[3] * 4 | decimations=[512] * 4 |
        times_per_item=0 | tolerance=0.4 | beams=65537 | device=gpu |
        beams=1000; times_per_item=2**18
    copy: vlen=0 | vlen=268435456 | device=gpu
    discard: vlen=0 | vlen=268435456 | device=gpu
    snapshot: vlen=0 | vlen=268435456 | device=gpu | rate=-1 | rate=float('nan') | rate=2e6 |
        depth=0 | depth=4097
    fx_correlator: channels=7 | channels=2 | integration=0 | inputs=0 | integration=float('nan') |
        inputs=3; inputs_per_port=2 | sample_rate=-1 | center_frequency=float('inf') | inputs=1001 |
        inputs=512; inputs_per_port=512; channels=65536 | device=gpu
    spectrometer: channels=7 | channels=2 | integration=0 | inputs=0 | t_hot=5 | t_hot=0 |
        inputs=3; inputs_per_port=2 | mode=load; settling=1 | settling=61 | period=0 | t_cold=-1 |
        sample_rate=-1 | throw=2e9 | t_load=0 | t_receiver=0 | inputs=65 | device=gpu
    hydrogen_source: sample_rate=0 | center_frequency=0 | period=0 | throw=2e9 | throw=-2e9 |
        dish=0 | t_receiver=0 | gain=61 | drift=1 | samples=-1 | seed=-1
    spectrum_display: inputs=0 | rest_frequency=-1 | averaging=-1 | names=['A', 'B']
    fringe_display: channels=0 | inputs=1 | inputs=4097 | history=9 | window=257 | names=['A'] |
        channels=2**27 | device=gpu
    waterfall_display: channels=0 | rows=0 | history=9 | names=['A', 'B'] | channels=2**28 |
        device=gpu
    bandpass_display: channels=0 | inputs=0 | channels=90000000 | averaging=-1 |
        averaging=float('nan') | dynamic_range=201 | device=gpu | edge=frames; spectra_per_frame=0 |
        names=['A'] | edge=frames; spectra_per_frame=131072
    direction_finder: channels=0 | inputs=0 | inputs=2 | channels=90000000 | sources=-1 |
        elevation=90 | integrations=0 | bandwidth=-1 | bandwidth=1e5; frequency=-1
    sky_display: channels=0 | inputs=0 | channels=90000000 | width=111 | averaging=-1 |
        averaging=float('nan') | dynamic_range=101 | pixels=15 | pixels=4096 | rate=0 | rate=6
    corner_turn: channels=0 | inputs=0 | inputs_per_port=0 | inputs=3; inputs_per_port=2 |
        spectra_per_frame=0 | first_channel=-1 | first_channel=1024 | selected_channels=-1 |
        first_channel=1000; selected_channels=25 | align=-1 | spectra_per_frame=524288 |
        type=fc32; spectra_per_frame=131072 | device=gpu | inputs=1001 | align=float('inf')
    xengine: spectra_per_slice=100 | spectra_per_slice=-1 | channels=0 | inputs=0 |
        spectra_per_frame=0 | integration=0 | integration=-1 | integration=1.5 |
        integration=0; integration_unit=seconds | spectra_per_frame=524288 |
        type=fc32; spectra_per_frame=131072 | inputs=800; spectra_per_frame=1 | device=gpu |
        integration=2e9
    visibility_averager: channels=0 | inputs=0 | integration=0 | integration=1.5 |
        average_channels=3 | products=[(0, 2)] | products=[(0,)] | lengths=[3, 1, 1] | lengths=[1] |
        centers=-1 | gates=[(0.1, 0.2)] | inputs=800 | device=gpu | integration=2e9
    receiver_tags: vlen=0 | vlen=268435456 | rate=-1 | rate=float('inf') |
        center_frequency=float('nan') | start_time=(0, 1.0); clock=given |
        start_time=(253402300800, 0.0)
    packet_sink: addresses=[] | samples=0 | samples=60000 | inputs=0 |
        coding=offset2; complex=False; samples=3 | rate=0 | inputs_per_port=-1 |
        packets_per_frame=2 | layout=vdif | layout=best2; coding=s16 | first_number=-2 | pace=-1 |
        loss=1.1 | duplicate=-1 | corrupt=2 | reorder=-0.1 | distance=0 | jitter=11
    packet_source: addresses=[] | samples=0 | samples=60000 | inputs=0 |
        coding=offset2; complex=False; samples=3 | streams=[1, 1] | streams=[-1] | rate=0 |
        center_frequency=float('nan') | bandwidth=-1 | start_time=(0, 1.0) | inputs_per_port=-1 |
        packets_per_frame=2 | masks=True | layout=best2; coding=s16 | layout=vdif | window=1 |
        confirm=65 | most_gap=-1 | cores=[0, 0] | socket_buffer=1 | queue=-1 | items=-1 |
        status_interval=-1
    replay: vlen=0 | data=b'' | data=bytes(12) | repeats=-1 | rate=-1 | start_time=(0, 1.0) |
        bandwidth=-1 | samples_per_item=-1 | device=gpu | rate=float('inf') |
        center_frequency=float('nan') | start_time=(-1, 0.0) | samples_per_item=2**31
    exchange: channels=0 | inputs=0 | spectra_per_frame=0 | input_devices=[] | output_devices=[] |
        input_devices=['cpu'] * 3 | latency=11 | output_devices=['cpu', 'gpu'] |
        spectra_per_slice=100 | most_gap=-1 | channels=2**24; inputs=256
    join_averages: channels=0 | lengths=[3, 4] | lengths=[1] | products=[] | lengths=[0, 2] |
        channels=2**24; products=[[(0, 0)] * 20, [(1, 1)]]
    join_channels: channels=0 | inputs=0 | ranges=0 | ranges=1025 | channels=65536; inputs=1024
    select_inputs: channels=0 | inputs=0 | spectra_per_frame=0 | selected=[] | selected=[2] |
        selected=[-1] | selected=[1, 1] | spectra_per_slice=100 | latency=11 |
        channels=2**24; inputs=256
    select: channels=0 | inputs=0 | products=[] | products=[(0, 2)] | products=[(-1, 0)] |
        products=[(0,)] | channels=90000000
    stream_align: inputs=0 | inputs=1001 | search_samples=1023 | most_offset=0 |
        search_samples=2**28 + 1 | reference=2 | clock_error=-1 | interval=-1 | watch=float('inf') |
        false_alarms=1 | most_gap=-1 | status_interval=float('nan') | noise_settle=61 |
        noise_patience=0 | inputs=1; noise_source=message
    noise_switch: by=call | call=print | pin=32 | name=''
    array_source: inputs=0 | inputs_per_port=0 | inputs=3; inputs_per_port=2 | inputs=1001 |
        inputs_per_port=2**31 | samples=-1 | seed=-1 | seed=2**64 | noise_rms=-1 | noise_rms=1e16 |
        sources=1 | start_time=-1 | start_time=float('nan') | start_time=(1, 2) | start_time=1e300
    dada_source: begin=-1 | samples=-1
    calibrator: channels=0 | inputs=0 | channels=90000000 | integrations=0 |
        integrations=2**20 + 1 | every=-1 | lead=-1 | lead=2e6 | noise_settle=-1 | noise_patience=0
    uvh5_sink: gains=[1.0] | filename= | channels=0 | inputs=0 | channels=90000000
    vdif_sink: inputs=0 | inputs=3 | data_bytes=8001 | sample_rate=0 | filename= |
        inputs_per_frame=3; inputs=6 | inputs=4 | edv=3 | step=-1 | level=-1 | level_time=0 |
        rate_factor=-1 | threads=[1] | names=['a', 'b']
    voltage_sink: filename=x.dat | channels=0 | inputs=0 | spectra_per_frame=0 |
        spectra_per_frame=524288 | blocks_per_file=0 |
        filename=x-{input}.raw; selected_channels=None | filename=x-{input}.raw; type=sc8 |
        filename=x.sigmf-meta; selected_channels=[1, 2] | selected_channels=[] |
        selected_channels=[1024] | selected_inputs=[2] | inputs=3; polarizations=2 | names=['a']
    voltage_ring: filename=x-{id}-{time}.dat | filename=x-{id}.dada | channels=0 |
        filename=x-{time}.dada | inputs=0 | spectra_per_frame=524288 | filename=x-{id}-{time}.raw |
        filename=x-{id}-{time}.sigmf-meta | filename=x-{id}-{time}.raw; type=sc8; kind=samples |
        type=s16 | size=4096 | seconds=1 | seconds=-1 | queue=0 | disk_limit=0 | longest_wait=-1 |
        selected_channels=[1024] | selected_inputs=[] | inputs=3; polarizations=2 | names=['a'] |
        blocks_per_file=0 | device=gpu
    """
)

#: block -> values other than the defaults, which work
ALLOWED = cases(
    """
    uvh5_sink: counts=True; channels=16; inputs=2
    delay_tracker: type=sc8; vlen=2; direction=Cas A; phase_error=1 |
        direction=23:23:24 +58:48:54; center_frequency=1e9; lead=0 |
        array=y8; inputs=8; direction=az=180, el=45; status_period=0 |
        type=s16; inverted=True; channels=64 | type=s12; vlen=3; samples_per_item=2; direction=sun
    power_source: samples=1 | order=coherency; products=all
    heimdall_source: channels=2; gain=20 | address='[::1]'; calibrated=False
    rtl_tcp_source: rate=250000; gain=-9.9; correction=-50 | address=roof; bias_tee=True
    spead_source: kind=samples; inputs=3; senders=[7, 5, 6] |
        kind=samples; sample_type=s8; heaps_per_chunk=5 |
        kind=beams; inputs=3; address=239.1.1.1+2:7148; cores=[0] |
        kind=visibilities; inputs=6; channels=16; total_channels=64 |
        spectra_per_frame=1024; channels_per_heap=64; sync_time='0.1'
    spead_sink: kind=samples; inputs=3; sample_type=s12 |
        kind=beams; inputs=3; address=239.1.1.1+2:7148; antennas=64 |
        kind=visibilities; inputs=6; channels=16; normalised=False |
        address=10.0.0.1:7148,10.0.0.2:7148; inputs=8; first_input=4
    pointing: type=sc8; vlen=2; phase_error=0.1; taper=hamming |
        center_frequency=1e9; bandwidth=1e6; calibration=[1, 1j] |
        beams=aperture.load_beams('grid:az=0,el=80,columns=3,spacing=1', 'two-dish') |
        array=y8; inputs=8; normalise=signal; channels=1 | type=s16; inverted=True |
        type=sc4; vlen=2 | type=s12; vlen=3; samples_per_item=2
    vdif_sink: filename={beam}.vdif; inputs=4; type=fc32; bits=4; station=77; names=['a', 'b'] |
        filename=; address=127.0.0.1:50000; inputs=1; polarizations=1; edv=1; threads=[5]
    voltage_sink: filename=x-{input}-{time}.raw; type=sc8; selected_channels=range(10, 20);
        names=['a', 'b']; array=two-dish |
        filename=x.raw; type=sc4; polarizations=2; selected_channels=None |
        filename=x-{beam}.sigmf-meta; kind=beams; inputs=5; selected_inputs=[4, 1];
        blocks_per_file=7
    voltage_ring: filename=x-{id}-{time}-{input}.raw; type=sc8; array=two-dish |
        filename=x-{id}-{time}.sigmf-meta; kind=samples; type=s16; inputs=1 |
        filename=x-{beam}-{id}-{time}-{channel}.dada; kind=beams; inputs=4; polarizations=2;
        selected_channels=range(9); memory=host |
        seconds=0.5; rate=10; disk_limit=None; device=cpu; queue=1
    filterbank_sink: counts=True; channels=16 | channels=1 | nbits=8; machine_id=3; telescope=4 |
        array=mwa-32t; products=IQUV; channels=16 | array=mwa-32t; rows=2
    psrfits_search_sink: counts=True; channels=16 | channels=1 | nbits=1; row_samples=100 |
        array=mwa-32t; products=IQUV; channels=16; descending=True; source=B0329+54 |
        array=mwa-32t; rows=2; filename=x-{beam}.sf; nbits=32
    folder: type=s8; beams=3; channels=5 | type=u8; epoch=1.7e9 | counts=True; beams=3; products=2 |
        products=4; bins=2; mean=False; subintegration=0.5
    psrfits_sink: channels=5; bins=7; dm=26.7; source=B0329+54 | array=mwa-32t; products=IQUV |
        period_derivative=1e-15
    pfb_channelizer: channels=4; taps=1 | channels=30; taps=64 | inputs=6; inputs_per_port=3 |
        window=kaiser; beta=6.5 | window=blackman | prototype=[1.0] * 8192 | gains=[1 + 1j] * 1024 |
        input_type=s8; output_type=sc8; gain=0.5 | inverted=True |
        prototype=[1.0] * 16384; input_type=s16 | input_type=sc4 | input_type=s12 |
        input_type=s12; inputs_per_port=2 | input_type=s10 |
        input_type=s10; inputs=3; inputs_per_port=3 | device=cpu
    upchanneliser: channels=1; fine=3; taps=2 | fine=54; oversampling=32/27; coarse_taps=24 |
        inputs=6; inputs_per_port=3; input_type=sc8; output_type=sc8 | coarse_taps=0 | device=cpu |
        input_type=sc4 |
        window=kaiser; beta=6.5; coarse_window=kaiser; coarse_beta=7 | prototype=[1.0] * 128 |
        coarse_taps=1; coarse_prototype=[1.0] * 16 | output_type=sc8; gain=20
    zoom: input_type=s10; decimation=4096; inverted=True |
        inputs=6; inputs_per_port=3; frequency=-1e6 | output_type=sc8; gain=20; passband=0.95 |
        input_type=s12; inputs_per_port=2; decimation=3 | device=cpu
    f_engine: channels=4; taps=1 | inputs=6; inputs_per_port=3; spectra_per_frame=7 |
        window=kaiser; beta=6.5 | gains=[1 + 1j] * 1024 | prototype=[1.0] * 16384; input_type=s10 |
        inverted=True | input_type=s12; inputs_per_port=2 | input_type=sc4 |
        first_channel=3; selected_channels=5; output_type=sc8; gain=20 | align=0.5 | device=cpu |
        spectra_per_slice=128; time_sum_sigma=6; bad_channels=[3]
    beamformer: type=sc4; beams=3; weights=[1, 2, 3, 4j, 5, 6] | gains=[2] |
        type=fc32; output_type=sc8; inputs=3; masks=[[1, 0, 1]] |
        channels=3; weights=[[[1, 2]], [[3, 4]], [[5, 6]]] | device=cpu
    beam_power: spectra_per_slice=16; beams=1; incoherent_beams=2 |
        type=sc4; beams=4; products=IQUV; basis=circular | beams=0; incoherent_beams=1 |
        type=fc32; spectra=2560 |
        products=I; beams=2; incoherent_beams=2; masks=[[1, 1], [1, 1], [1, 0], [0, 1]] |
        summed_channels=8; mean=False | device=cpu
    power_detector: spectra_per_slice=16; beams=2; products=IQUV |
        beams=4; products=coherency; spectra=64 | type=sc8 |
        beams=2; products=I; basis=circular; spectra=512 | summed_channels=4; mean=False |
        device=cpu
    power_normalizer: type=s8; steps=5.5; beams=7 | segments=4; window=5 |
        bad_channels=range(100, 200); zero_dm=True | device=cpu |
        cell_threshold=0; channel_threshold=0; spectrum_threshold=0
    synthesizer: output_type=f32 | type=sc8; beams=3; oversampling=32/27; taps=24 |
        window=kaiser; beta=6.5 |
        channels=33; total_channels=64; first_channel=5; oversampling=4/3 | device=cpu |
        real_input=True; output_type=f32; input_rate=64e6; sample_rate=32e6; frequency=-8e6 |
        output_type=f32; input_rate=64e6; sample_rate=32e6; frequency=1e9; frequency_is=sky
    pulse_search: dms=[0, 10.5, 3]; decimations=[1, 4, 2]; times_per_item=1000 |
        beams=2; positions=[0, 0, 1, 0]; neighbors=1; most_beams=1 | device=cpu; widest=1
    candidate_sink: type=s8; beams=3 | filename=x.csv; type=u8; pictures=1.5
    flagger: type=sc8; spectra_per_slice=64; time_sigma=5 | type=sc4 |
        bad_channels=list(range(10, 20)); grown_slices=1; grown_channels=2 |
        kurtosis_false_alarms=0; spectra_per_slice=1; channel_sum_sigma=6 | device=cpu
    dedisperser: type=s8; beams=3 | type=u8; decimations=[1, 2, 4, 4] |
        tolerance=0.5; dms=[17]; times_per_item=100 | device=cpu
    copy: type=sc8; vlen=4095 | type=s16 | vlen=65536 | device=cpu
    discard: type=sc8; vlen=4095 | type=s16 | device=cpu
    snapshot: type=sc8; vlen=4095; depth=3 | type=s16; rate=0 | device=cpu
    fx_correlator: inputs=4; inputs_per_port=2; input_type=s10 | input_type=sc4 |
        sample_rate=2.4e6; center_frequency=1420.4e6 | device=cpu |
        channels=4; integration=1e-3; inverted=True; sample_rate=8e3
    spectrometer: inputs=4; inputs_per_port=2; input_type=s10 | mode=load; settling=0.5 |
        mode=frequency; throw=1e6; period=5 | look=cold; t_cold=20 | integration=0.1; device=cpu |
        sample_rate=2.4e6; center_frequency=1420e6; inverted=True
    hydrogen_source: target=hot; gain=20; drift=0 | switching=frequency; throw=-1e6 |
        switching=load; period=4; direction=sun | direction=l=80, b=0; dish=5; samples=7
    spectrum_display: inputs=2; names=['x', 'y']; averaging=10 | rest_frequency=0 |
        direction=l=30, b=0
    fringe_display: inputs=5; channels=7; baselines=[(0, 4), (3, 2)] | array=two-dish |
        names=['A', 'B']; baselines=[('B', 'A')] | device=cpu; history=10; window=1
    waterfall_display: type=f32; rows=4; names=list('IQUV'); scale=linear | type=sc8; channels=63 |
        device=cpu
    bandpass_display: edge=frames; type=sc8; spectra_per_frame=16 |
        edge=frames; type=sc4; inputs=3; channels=7 |
        edge=frames; spectra_per_frame=5; names=['A', 'B']; averaging=0 |
        type=sc8; array='y16'; inputs=16; dynamic_range=30 | title=levels; device=cpu
    direction_finder: method=capon; sources=2; elevation=10 | criterion=aic; integrations=5 |
        bandwidth=1e5; frequency=433.9e6; calibration=applied; filename=a.csv; title=Five
    sky_display: array=y16; inputs=16; channels=64; dynamic_range=20 |
        centre=Cas A; width=5; weight=natural; averaging=0; pixels=64 |
        tracked=sun; centre=sun; title=Sun; rate=5
    corner_turn: first_channel=3; selected_channels=5 | first_channel=1000 |
        inputs=6; inputs_per_port=3; spectra_per_frame=7 | align=0.5 | type=fc32 | type=sc4 |
        device=cpu
    xengine: spectra_per_slice=12; spectra_per_frame=120; inputs=3 |
        integration=0.25; integration_unit=seconds | normalise=False |
        inputs=7; channels=3; spectra_per_frame=5; integration=3 | type=fc32 | type=sc4 | device=cpu
    visibility_averager: average_channels=8; counts=True; inputs=3 | integration=0.5;
        integration_unit=seconds; align=True | products=[(0, 1)]; mean=False |
        lengths=[1, 4, 1]; centers=2; counts=True | device=cpu
    receiver_tags: type=sc8; vlen=3 | rate=2.4e6; center_frequency=1.42e9 |
        clock=given; start_time=(1700000000, 0.5) | clock=none | replace=True
    packet_sink:
        layout=vdif; coding=u8; samples=4000; rate=32e6; streams=[0, 5]; inputs_per_port=1 |
        layout=best2; coding=sc4; samples=128; inputs=32; rate=19531.25; streams=list(range(64));
        packets_per_frame=9 | addresses=['127.0.0.1:4015', '127.0.0.1:4016']; loss=0.1; pace=0
    packet_source: layout=vdif; coding=offset2; complex=False; samples=8000; rate=32e6;
        streams=[0, 1, 5]; inputs_per_port=1 |
        layout=best2; coding=sc4; samples=128; inputs=32; rate=19531.25; streams=list(range(64));
        packets_per_frame=9; masks=True |
        addresses=['127.0.0.1:4015', '[::1]:4016']; inputs=3; coding=s16; senders=['10.0.0.0/8']
    replay: type=sc8; vlen=3; data=bytes(600); repeats=7 |
        data=__import__('numpy').zeros((5, 4), 'complex64'); vlen=4 |
        rate=0; center_frequency=1.4e9; start_time=(1700000000, 0.5) |
        bandwidth=1e6; samples_per_item=1024; device=cpu
    stream_align: type=sc8; inputs=3 | type=sc4; method=time |
        type=sc16; method=correlation; reference=1; clock_error=2 |
        unaligned=True; interval=10; relative_time=True | noise_source=message; noise_settle=1
    noise_switch: by=call; call=print | by=uhd; name=FP0; pin=3; inverted=True
    exchange: type=sc8; inputs=6; input_devices=['cpu'] * 3; by=copies; output_devices=['cpu'] * 4 |
        type=sc4; spectra_per_slice=4; input_devices=['cpu']
    join_averages: type=u32; channels=12; products=[[(1, 0)], [(0, 0)], [(1, 1)]]; lengths=[1, 2, 8]
    join_channels: type=u32; channels=12; ranges=3; inputs=5 | ranges=1
    select_inputs: type=sc8; inputs=5; selected=[3, 0, 4] | type=sc4; spectra_per_slice=4
    select: inputs=5; products=[(4, 0), (0, 4), (2, 2)] |
        inputs=8; products=aperture.products('y8', [(1, 0)])
    """
)


def setUpModule():
    recording = fresh_folder("grc_blocks") / "recording.dada"
    status, said = run_script(SOURCE / "tools/synthesise-recording", recording)
    assert status == 0, said
    NEEDED["aperture_dada_source"] = {"filename": str(recording)}
    powers = fresh_folder("grc_powers") / "beam.fil"
    write_sigproc(powers, np.ones((2, 1, 1024)), 8, 1400.0, 0.5)
    NEEDED["aperture_power_source"] = {"filenames": str(powers)}


class TestGrcBlocks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.platform = Platform(
            name="test",
            prefs=gr.prefs(),
            version=gr.version(),
            version_parts=(gr.major_version(), gr.api_version(), gr.minor_version()),
        )
        cls.platform.build_library()
        cls.names = sorted(name for name in cls.platform.blocks if name.startswith("aperture_"))
        cls.application = Qt.QApplication.instance() or Qt.QApplication(["test_grc_blocks"])

    def block(self, name, values={}):
        """A block in a flowgraph of GRC's, with parameters set as in its window."""
        flowgraph = self.platform.make_flow_graph()
        block = flowgraph.new_block(name)
        block.params["id"].set_value("the_block")
        for key, value in {**NEEDED.get(name, {}), **values}.items():
            block.params[key].set_value(value)
        # twice, as GRC does: ports depend on parameters
        for _ in range(2):
            flowgraph.rewrite()
        flowgraph.validate()
        # a weak reference is all that the block has of it
        self.addCleanup(lambda keep: None, flowgraph)
        return block

    def errors(self, block):
        return [
            message
            for message in block.get_error_messages()
            if "Port is not connected" not in message
        ]

    def make(self, block):
        """Runs what GRC would write for this block; returns the flowgraph object of it."""

        class Flowgraph:
            top_layout = Qt.QVBoxLayout()  # windows of displays go here

        scope = {"self": Flowgraph()}
        exec(block.templates.render("imports"), scope)
        exec(f"self.{block.name} = {block.templates.render('make')}", scope)
        return scope["self"], scope

    def test_all_are_there(self):
        """GRC finds every file of grc/, under the id that its name says, in a folder of [Aperture];
        displays in one of their own, and only in flowgraphs that have a window."""
        files = {path.name[: -len(".block.yml")] for path in SOURCE.glob("grc/*.block.yml")}
        self.assertEqual(set(self.names), files)
        for name in self.names:
            top, folder = self.platform.blocks[name].category
            self.assertEqual(top, "Aperture", name)
            display = "need_qt_gui" in self.platform.blocks[name].flags
            self.assertEqual(folder == "Displays", display, name)
            self.assertTrue(display or not name.endswith("_display"), name)

    def test_generated(self):
        """The files are those that tools/update-grc makes of descriptions and overlays."""
        stale = [str(path.relative_to(SOURCE)) for path in grc_files.stale()]
        self.assertEqual(stale, [], "run tools/update-grc")
        by_hand = set(self.names) - {f"aperture_{name}" for name in grc_files.overlays()}
        self.assertEqual(by_hand, BY_HAND, "files of blocks that are written by hand")

    def test_documentation(self):
        """Every block says what it does, what its items are, and which tags they carry."""
        for name in self.names:
            text = self.platform.blocks[name].documentation[""]
            self.assertGreater(len(text), 300, name)
            self.assertRegex(text, r"\b(In|Out|Ports?|ports?)\b", name)
            self.assertRegex(text, r"\b([Tt]ags?|tagged)\b", name)

    def test_saved_values(self):
        """A saved flowgraph with every parameter changed has these values when it is loaded."""
        flowgraph = self.platform.make_flow_graph()
        changed = {}
        for name in self.names:
            block = flowgraph.new_block(name)
            block.params["id"].set_value(name)
            for key, parameter in block.params.items():
                if key == "id" or parameter.dtype == "gui_hint":
                    continue
                options = list(parameter.options)
                other = [option for option in options if option != parameter.get_value()]
                value = (other or options)[-1] if options else f"{parameter.get_value()}1"
                parameter.set_value(value)
                changed[name, key] = parameter.get_value()
        flowgraph.rewrite()
        path = fresh_folder("grc_saved") / "saved.grc"
        self.platform.save_flow_graph(str(path), flowgraph)
        again = self.platform.make_flow_graph(str(path))
        values = {
            (name, key): again.get_block(name).params[key].get_value() for name, key in changed
        }
        self.assertGreater(len(values), 500)
        self.assertEqual(values, changed)

    def check_made(self, block, values):
        name = f"{block.key} {values}"
        self.assertEqual(self.errors(block), [], name)
        flowgraph, scope = self.make(block)
        made = getattr(flowgraph, block.name)

        for grc_ports, signature in (
            (block.active_sinks, made.input_signature()),
            (block.active_sources, made.output_signature()),
        ):
            sizes = [port.item_size for port in grc_ports if port.domain == "stream"]
            limit = signature.max_streams()
            self.assertTrue(
                signature.min_streams() <= len(sizes) and (limit == -1 or len(sizes) <= limit),
                f"{name}: ports",
            )
            real = [signature.sizeof_stream_item(i) for i in range(len(sizes))]
            self.assertEqual(sizes, real, f"{name}: bytes of an item")

        for grc_ports, real in (
            (block.sinks, made.message_ports_in()),
            (block.sources, made.message_ports_out()),
        ):
            ports = {port.key for port in grc_ports if port.domain == "message"}
            there = {str(real_name) for real_name in _symbols(real)} - {"system"}
            if isinstance(made, gr.hier_block2):
                # the list has no connections to blocks inside
                there = {
                    port for port in ports if made.to_basic_block().has_msg_port(pmt.intern(port))
                }
            self.assertEqual(ports, there, f"{name}: message ports")

        for callback in block.get_callbacks():
            for method in re.findall(rf"self\.{block.name}\.(\w+)\(", callback):
                self.assertTrue(hasattr(made, method), f"{name}: {callback}")
            exec(callback, scope)

    def test_defaults(self):
        """Defaults give a valid block with GRC's ports, and callbacks that can be called."""
        for name in self.names:
            with self.subTest(block=name):
                self.check_made(self.block(name), "")

    def test_allowed(self):
        for name, cases in ALLOWED.items():
            for values in cases:
                with self.subTest(block=name, values=values):
                    self.check_made(self.block(name, values), values)

    def test_refused(self):
        """A value that GRC's asserts refuse, the block refuses, and for that reason alone."""
        for name, cases in REFUSED.items():
            for values in cases:
                with self.subTest(block=name, values=values):
                    block = self.block(name, values)
                    failed = [
                        message
                        for message in self.errors(block)
                        if "Assertion" in message and "failed" in message
                    ]
                    self.assertTrue(failed, self.errors(block))
                    # pybind11 refuses what is no pair of integers with a TypeError
                    with self.assertRaises((ValueError, RuntimeError, TypeError)):
                        self.make(block)

    def test_defaults_are_the_constructors(self):
        """GRC's defaults are those of the constructor."""
        for name in self.names:
            block, defaults = self.block(name), constructor_defaults(name)
            # None: not given; GRC gives it, for it draws ports and items of that size
            shared = [key for key in block.params if defaults.get(key) is not None]
            self.assertTrue(shared, name)
            for key in shared:
                if (name, key) in OTHER_DEFAULTS:
                    continue
                with self.subTest(block=name, parameter=key):
                    value, default = block.params[key].get_evaluated(), defaults[key]
                    if isinstance(default, (tuple, list, np.ndarray)):
                        value, default = list(value), list(default)
                    elif not isinstance(default, str):
                        # enumerations are strings in GRC
                        default = type(value)(default)
                    self.assertEqual(value, default)

    def test_default_blocks_connect(self):
        """Blocks dropped side by side, with nothing typed in, are a flowgraph that runs."""
        folder = fresh_folder("grc_defaults")
        for names in (*chains(), SEARCH, (*SEARCH[:-2], "candidate_sink")):
            with self.subTest(" -> ".join(names)):
                self.check_chain(folder, "_to_".join((names[0], *names[-2:])), names)

    def check_chain(self, folder, title, names):
        flowgraph = self.platform.make_flow_graph()
        options = flowgraph.options_block.params
        window = "qt_gui" if names[-1].endswith("_display") else "no_gui"
        for key, value in (("id", title), ("generate_options", window), ("title", title)):
            options[key].set_value(value)
        made = [flowgraph.new_block(f"aperture_{name}") for name in names]
        if names[-1] == "select":
            made.append(flowgraph.new_block("blocks_null_sink"))
            made[-1].params["vlen"].set_value("1024")
        for number, block in enumerate(made):
            # GRC's window does so when a block is dropped
            block.params["id"].set_value(f"{block.key}_{number}")
        flowgraph.rewrite()
        for before, after in zip(made, made[1:]):
            ends = [
                [port for port in ports if port.domain == "stream"]
                for ports in (before.active_sources, after.active_sinks)
            ]
            self.assertEqual(len(ends[0]), len(ends[1]))
            for source, sink in zip(*ends):
                flowgraph.connect(source, sink)
        flowgraph.rewrite()
        flowgraph.validate()
        self.assertEqual([str(error) for error in flowgraph.iter_error_messages()], [])

        path = folder / f"{title}.grc"
        self.platform.save_flow_graph(str(path), flowgraph)
        # grcc would read the descriptions of all blocks once more for each
        self.platform.load_and_generate_flow_graph(str(path), str(folder))
        # sinks write files of their default names
        with working_in(folder):
            top = runpy.run_path(str(folder / f"{title}.py"))[title]()
            last = getattr(top, made[-1].name)
            top.start()
            until = time.monotonic() + PATIENCE
            while not came(last) and time.monotonic() < until:
                time.sleep(0.01)
            top.stop()
            top.wait()
        self.assertGreater(came(last), 0)

    def test_examples_are_short(self):
        """Flowgraphs in examples say nothing that Companion takes by itself."""
        shorten = runpy.run_path(str(SOURCE / "tools/shorten-flowgraphs"))["shorten"]
        target = fresh_folder("short_flowgraphs") / "short.grc"
        for path in (SOURCE / "examples").rglob("*.grc"):
            shorten(self.platform, path, target)
            with self.subTest(path.name, hint="tools/run tools/shorten-flowgraphs"):
                # not the same text: other releases write their own number
                lengths = [len(file.read_text().splitlines()) for file in (path, target)]
                self.assertLessEqual(*lengths)

    def test_examples_are_listed(self):
        """Flowgraphs in examples have what the list of examples in GNU Radio Companion (3.10.12)
        reads: without a title, a description or an author it leaves them out, and without a kind it
        takes them for some without a window."""
        for path in (SOURCE / "examples").rglob("*.grc"):
            flowgraph = yaml.safe_load(path.read_text())
            options = flowgraph["options"]["parameters"]
            with self.subTest(path.name):
                for key in ("title", "description", "author", "generate_options"):
                    self.assertTrue(options.get(key), key)
                self.assertIn("blocks", flowgraph)
                self.assertIn("metadata", flowgraph)

    def test_every_setter(self):
        """Every set_... method of a block is reached by a callback of its GRC block."""
        for name in self.names:
            block = self.block(name)
            kind = getattr(aperture, name[len("aperture_") :])
            own = {member for member in vars(kind) if member.startswith("set_")}
            text = " ".join(block.get_callbacks())
            # one gain is the case of set_gains() in which all are the same
            for setter in own - {"set_gain"}:
                self.assertIn(f"{setter}(", text, name)


def constructor_defaults(name):
    """Parameter -> default of the constructor."""
    described = parameters_of(getattr(aperture, name[len("aperture_") :]))
    return {parameter.name: parameter.default for parameter in described if not parameter.needed}


def _symbols(ports):
    """Names in what message_ports_in() returns, a PMT vector of symbols."""
    return [pmt.symbol_to_string(pmt.vector_ref(ports, i)) for i in range(pmt.length(ports))]


if __name__ == "__main__":
    main()
