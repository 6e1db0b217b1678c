"""The open controller of Valera 2003 with a simulated PUMA in another process: homing, a move, and a motor that overheats."""

import appell

robot = appell.load("puma560")
start, end = [0.1, -1.1, 3.0, 2.4, 1.1, -0.8], [0.4, -0.9, 2.8, 2.6, 1.2, -0.6]
move = appell.trajectories.joint_line(robot, start, end, duration=1.5)
controller = appell.control.ComputedTorque(robot, move, kp=400.0, kd=40.0, period=2e-3)

for faults in ([], ["overheat:2@3.5"]):
    card = appell.control.SimulatedCard(rate=500.0, faults=faults)  # virtual time: as fast as possible
    run = appell.control.run(controller, card, clock=appell.control.StepClock())
    print(run.table())
    print("outputs:", set(run.outputs.codes), "(2048 is 0 V); end of the plant:", card.exit_message["by"], "\n")
run.plot().savefig("stopped.png", dpi=90)
