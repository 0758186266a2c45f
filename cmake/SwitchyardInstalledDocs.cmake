# Run by `cmake --install`: documents, examples and configurations as they lie in the source tree, so that their links to
# each other hold. Links to sources, which are not installed, become their texts. Needs SOURCE and DESTINATION.
set(documents "${DESTINATION}/share/doc/switchyard")
file(COPY "${SOURCE}/docs" "${SOURCE}/examples" "${SOURCE}/configs" "${SOURCE}/README.md" "${SOURCE}/SECURITY.md"
  "${SOURCE}/LICENSE" DESTINATION "${documents}")
file(GLOB_RECURSE texts "${documents}/*.md")
foreach(text IN LISTS texts)
  file(READ "${text}" content)
  string(REGEX REPLACE "\\[([^]\n]*)\\]\\((\\.\\./)*(core|plugins|sdk|tests|cmake)(/[^)\n]*)?\\)" "\\1" linked "${content}")
  if(NOT linked STREQUAL content)
    file(WRITE "${text}" "${linked}")
  endif()
endforeach()
