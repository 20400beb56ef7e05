# What the made-up files of rows have in common: the header is passed on, and columns are found by name. None from `warnings`
# on is touched: those may hold commas. Comes before the file that makes the rows.
BEGIN { FS = OFS = "," }

NR == 1 {
  print
  for (column = 1; column <= NF; column++) place[$column] = column
  next
}

# Some awks write large numbers as 8e+09.
function set(column, value) { $place[column] = value ~ /^[0-9.e+]+$/ ? sprintf("%.0f", value) : value }
