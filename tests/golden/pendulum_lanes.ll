define internal void @state_angles(ptr noalias %x, ptr noalias %a) #0 align 64 {
entry:
%.0 = load <4 x double>, ptr %x
store <4 x double> %.0, ptr %a
ret void
}

define internal void @state_body(ptr noalias readonly %x, ptr noalias readonly %s, ptr noalias readonly %c, ptr noalias %w, ptr noalias %y) #0 align 64 {
entry:
%.0 = load <4 x double>, ptr %c
%.1 = fmul contract <4 x double> splat (double 0x40239EB851EB851F), %.0
%.2 = getelementptr <4 x double>, ptr %x, i64 2
%.3 = load <4 x double>, ptr %.2
%.4 = fsub contract <4 x double> %.3, %.1
%.5 = fmul contract <4 x double> splat (double 0x3FF5555555555555), %.4
store <4 x double> %.5, ptr %y
ret void
}
